import CarillonIO
import CarillonTLS

struct ListeningSide {
    let tls: TLSContext
    /// Nil before the start and after the stop.
    var listener: Listener?
    private var lastNumber = 0
    var tasks: [Int: Task<Void, Never>] = [:]

    init(_ tls: TLSContext) { self.tls = tls }

    /// Of a service of the binary protocols.
    init(requiringCertificates context: ServiceContext) throws(SimulatorError) {
        tls = try SimulatorError.unavailable {
            try TLSContext.server(identity: context.identity, clients: .required())
        }
    }

    mutating func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }
}

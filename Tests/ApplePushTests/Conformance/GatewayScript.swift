import ApplePush
import CarillonIO
import TestSupport

/// What a gateway does with each push, on any wire, and what it has seen. A push is known by its number: its device token.
final class GatewayScript: Sendable {
    enum Treatment: Sendable {
        case accept
        /// Says that there is no such device token.
        case refuse
        /// Says that the device token is dead, in the manner of the wire.
        case dead
        /// Accepts it, and says nothing more until the gate opens.
        case hold
        /// Loses the connection without a word.
        case cut
    }

    private struct Record {
        var arrivals: [Int] = []
        var counts: [Int: Int] = [:]
        var accepted: [Int] = []
        var ids: [Int: Set<PushID>] = [:]
    }

    let gate = Gate()
    private let record = Guarded(Record())
    private let treatment: @Sendable (_ number: Int, _ earlier: Int) -> Treatment

    /// - Parameter treatment: What to do with the push of that number, which came that often before.
    init(_ treatment: @escaping @Sendable (_ number: Int, _ earlier: Int) -> Treatment = { _, _ in .accept }) {
        self.treatment = treatment
    }

    func judge(_ number: Int, _ id: PushID? = nil) -> Treatment {
        let earlier = record.withLock { $0.counts[number, default: 0] }
        let treatment = treatment(number, earlier)
        record.withLock { record in
            record.arrivals.append(number)
            record.counts[number, default: 0] += 1
            if let id { record.ids[number, default: []].insert(id) }
            switch treatment {
            case .accept, .hold: record.accepted.append(number)
            case .dead, .refuse, .cut: break
            }
        }
        return treatment
    }

    var arrivals: [Int] { record.withLock { $0.arrivals } }
    var accepted: [Int] { record.withLock { $0.accepted } }
    /// The identities that each push carried, on a wire that has them.
    var ids: [Int: Set<PushID>] { record.withLock { $0.ids } }
}

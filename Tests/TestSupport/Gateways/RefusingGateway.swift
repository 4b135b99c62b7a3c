package import CarillonIO
import CarillonTLS

/// A gateway whose handshake fails unless its own authority has issued the client certificate.
package struct RefusingGateway: Sendable {
    /// The root that clients must trust to get that far.
    package let rootPEM: String
    private let reception: Reception

    /// How many connections there were.
    package var tries: Int { reception.connections }

    package static func with(on loop: EventLoop, _ body: (RefusingGateway, UInt16) async throws -> Void) async throws {
        let certificate = try ServerCertificate()
        let context = try certificate.context(clients: .required(authority: certificate.rootPEM))
        try await Reception.with(on: loop) { _, descriptor in
            let limit = Duration.seconds(60)
            _ = try await TLSStream.accept(Socket(owning: descriptor), context: context, timeout: limit, on: loop)
        } test: { reception, port in
            try await body(RefusingGateway(rootPEM: certificate.rootPEM, reception: reception), port)
        }
    }
}

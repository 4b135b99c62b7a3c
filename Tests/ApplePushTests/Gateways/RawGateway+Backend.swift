import ApplePush
import TestSupport

extension RawGateway {
    /// A gateway with that script, and a backend that sends to it, around a test.
    static func withBackend(
        _ change: (inout HTTP2Configuration) -> Void = { _ in },
        _ script: @escaping Script,
        test: (RawGateway, Gateway, HTTP2Backend) async throws -> Void
    ) async throws {
        try await Self.with(script) { server, port in
            let gateway = Gateway(host: "127.0.0.1", port: port, trust: .pem(server.rootPEM))
            try await ApplePushTests.withBackend(change) { try await test(server, gateway, $0) }
        }
    }
}

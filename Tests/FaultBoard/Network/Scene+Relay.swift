import ApplePushSimulator
import CarillonIO
import TestSupport

extension Scene {
    /// Sends the app's pushes through a relay with that judge.
    /// - Parameter piece: how many bytes go on at a time, at most.
    func withRelay(in piece: Int = 16_384, _ judge: @escaping Relay.Judge, _ body: (Reception) async throws -> Void)
        async throws
    {
        let issued = try simulator.issueCertificate(topics: [Self.topic])
        try await Relay.with(
            to: simulator.port,
            trusting: simulator.rootPEM,
            certificate: issued.certificate,
            privateKey: issued.privateKey,
            piece: piece,
            judge: judge
        ) { reception, port, rootPEM in
            try await lead(to: "127.0.0.1:\(port)", trusting: rootPEM)
            try await body(reception)
        }
    }

    /// Sends the app's pushes through a proxy, which does not look at the bytes.
    func withProxyToGateway(_ body: (Proxy) async throws -> Void) async throws {
        try await Proxy.with(to: simulator.port, on: loop) { proxy in
            try await lead(to: "localhost:\(await proxy.port)", trusting: simulator.rootPEM)
            try await body(proxy)
        }
    }

    /// Sends the app's pushes there from now on.
    func lead(to gateway: String, trusting root: String) async throws {
        try await client.run(
            "UPDATE carillon.apps SET gateway = '\(gateway)', gateway_ca = '\(root)' WHERE name = '\(Self.app)'"
        )
    }
}

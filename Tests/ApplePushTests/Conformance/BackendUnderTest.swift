import ApplePush
import TestSupport

/// A backend with a gateway that follows a script.
struct BackendUnderTest: Sendable {
    /// Every backend that there is, and one that only uses what is public.
    enum Kind: CaseIterable, Sendable {
        case http2
        case binary
        case transportHTTP2
        case transportBinary
        case recorded
        case ownRelay

        /// Whether a gateway of the binary protocol is on the other side.
        var isBinary: Bool { self == .binary || self == .transportBinary }
        /// Whether the backend has connections, which can be shared, idle or prepared.
        var hasConnections: Bool { self != .recorded && self != .ownRelay }
    }

    /// What is wrong with the gateway.
    enum Flaw: Sendable {
        case unreachable
        case untrusted
    }

    /// What proves to the binary backend that a push was accepted.
    enum Proof: Sendable {
        /// The error of a barrier, which costs the connection.
        case errors
        /// A short time without an error, after which the connection goes on.
        case silence
    }

    let backend: any Backend
    let gateway: Gateway
    let credential: Credential
    /// How many connections the gateway has accepted.
    let connections: @Sendable () -> Int

    func deliver(_ count: Int, _ terms: DeliveryTerms = DeliveryTerms()) async -> Delivered {
        await backend.deliver(batch(count, digits: 64), to: gateway, with: credential, terms: terms)
    }

    // MARK: Making one

    static func with(
        _ kind: Kind,
        _ script: GatewayScript = GatewayScript(),
        flaw: Flaw? = nil,
        room: Int = 1000,
        proof: Proof = .errors,
        _ test: (Self) async throws -> Void
    ) async throws {
        let binary = proof.configuration(room: room)
        switch kind {
        case .http2, .transportHTTP2:
            try await TestGateway.with(streams: UInt32(room)) { seen in
                script.acts(on: seen)
            } test: { server, gateway in
                try await run(kind, at: gateway, flaw, binary, connections: { server.connections }, test)
            }
        case .binary, .transportBinary:
            try await RawGateway.with(alpn: []) { line in
                try await script.serveBinary(&line)
            } test: { server, port in
                let gateway = Gateway(host: "127.0.0.1", port: port, trust: .pem(server.rootPEM), transport: .binary)
                try await run(kind, at: gateway, flaw, binary, connections: { server.connections }, test)
            }
        case .recorded, .ownRelay:
            try await run(kind, at: .sandbox, flaw, binary, script: script, connections: { 0 }, test)
        }
    }

    private static func run(
        _ kind: Kind,
        at gateway: Gateway,
        _ flaw: Flaw?,
        _ binary: BinaryConfiguration,
        script: GatewayScript = GatewayScript(),
        connections: @escaping @Sendable () -> Int,
        _ test: (Self) async throws -> Void
    ) async throws {
        let backend: any Backend =
            switch kind {
            case .http2: HTTP2Backend(.oneConnection)
            case .binary: BinaryBackend(binary)
            case .transportHTTP2, .transportBinary:
                TransportBackend(http2: HTTP2Backend(.oneConnection), binary: BinaryBackend(binary))
            case .recorded: RecordedBackend(feedback: [deadToken]) { script.recordedAnswer(to: $0, flaw) }
            case .ownRelay: RelayBackend { token, id, _ throws(PushError) in try await script.relay(token, id, flaw) }
            }
        let subject = Self(
            backend: backend,
            gateway: try await flaw?.spoil(gateway) ?? gateway,
            credential: try TestCredential.certificate(),
            connections: connections
        )
        try await attempt {
            try await test(subject)
        } finally: {
            script.gate.open()
            await backend.shutdown()
        }
    }

    static let deadToken = Feedback(token: "dead", timestamp: 1_700_000_000_000)
}

extension BackendUnderTest.Proof {
    fileprivate func configuration(room: Int) -> BinaryConfiguration {
        var configuration = BinaryConfiguration.provenByErrors
        configuration.window = room
        configuration.firstWindow = room
        if self == .silence {
            configuration.quietPeriod = .milliseconds(50)
            configuration.barrierCount = BinaryConfiguration().barrierCount
            configuration.barrierAfter = .seconds(600)
        }
        return configuration
    }
}

extension BackendUnderTest.Flaw {
    /// Where the same gateway cannot be reached, or trusted.
    fileprivate func spoil(_ gateway: Gateway) async throws -> Gateway {
        switch self {
        case .unreachable:
            let port = try await TestGateway.with(test: { _, gateway in gateway.port })
            return Gateway(host: gateway.host, port: port, trust: gateway.trust, transport: gateway.transport)
        case .untrusted:
            let stranger = Gateway.Trust.pem(try ServerCertificate().rootPEM)
            return Gateway(host: gateway.host, port: gateway.port, trust: stranger, transport: gateway.transport)
        }
    }

    /// What a gateway without sockets says of it.
    var error: PushError {
        switch self {
        case .unreachable: PushError(.unreachable, "Nobody is there.")
        case .untrusted: PushError(.untrusted, "Nobody knows it.")
        }
    }
}

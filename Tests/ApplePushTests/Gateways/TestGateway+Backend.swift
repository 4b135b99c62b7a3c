import ApplePush

extension HTTP2Configuration {
    /// One connection at a time, and time limits for the slowest machine.
    static let longTimeouts: Self = {
        var configuration = Self()
        configuration.connections = 1
        configuration.connectTimeout = .seconds(60)
        configuration.handshakeTimeout = .seconds(60)
        configuration.settingsTimeout = .seconds(60)
        configuration.acknowledgementTimeout = .seconds(60)
        configuration.pingTimeout = .seconds(60)
        configuration.writeTimeout = .seconds(60)
        configuration.starvationTimeout = .seconds(60)
        configuration.requestTimeout = .seconds(60)
        configuration.totalTimeout = .seconds(300)
        return configuration
    }()
}

extension TestGateway {
    /// A gateway that acts like that, and a backend that sends to it, around a test.
    static func withBackend<R>(
        streams: UInt32 = 100,
        _ change: (inout HTTP2Configuration) -> Void = { _ in },
        _ act: @escaping @Sendable (Seen) -> [Act],
        test: (TestGateway, Gateway, HTTP2Backend) async throws -> R
    ) async throws -> R {
        try await Self.with(streams: streams, act) { server, gateway in
            try await ApplePushTests.withBackend(change) { try await test(server, gateway, $0) }
        }
    }
}

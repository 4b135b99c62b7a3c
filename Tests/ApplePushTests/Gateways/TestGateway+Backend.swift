import ApplePush
import TestSupport

extension HTTP2Configuration {
    /// `longTimeouts`, and one connection at a time.
    static let oneConnection: Self = {
        var configuration = longTimeouts
        configuration.connections = 1
        return configuration
    }()
}

extension BinaryConfiguration {
    /// Time limits that no busy machine reaches, so that only errors prove a push: those of pushes, and those of barriers.
    static let provenByErrors: Self = {
        var configuration = BinaryConfiguration()
        configuration.quietPeriod = .seconds(600)
        configuration.barrierCount = 1
        configuration.barrierAfter = .milliseconds(10)
        configuration.connectTimeout = .seconds(60)
        configuration.handshakeTimeout = .seconds(60)
        configuration.waitingTimeout = .seconds(300)
        return configuration
    }()
}

extension TestGateway {
    /// A gateway that accepts every push, and a backend that sends to it, around a test.
    static func accepting<R>(
        streams: UInt32 = 100,
        _ change: (inout HTTP2Configuration) -> Void = { _ in },
        test: (TestGateway, Gateway, HTTP2Backend) async throws -> R
    ) async throws -> R {
        try await withBackend(streams: streams, change, { _ in [.answer(200)] }, test: test)
    }

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

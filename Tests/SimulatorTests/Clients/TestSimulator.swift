import CarillonIO
import CarillonTLS
import TestSupport

@testable import ApplePushSimulator

/// Simulators for tests, and connections to them.
enum TestSimulator {
    /// Starts a simulator, runs the body, and stops the simulator. Its time limits follow a clock that stands still, since a
    /// client on a busy machine may need longer than any of them.
    static func with(
        clock: any LimitClock = ManualClock(),
        _ change: (inout SimulatorConfiguration) throws -> Void = { _ in },
        _ body: (APNsSimulator, FailedConnections, EventLoop) async throws -> Void
    ) async throws {
        let failures = FailedConnections()
        var configuration = SimulatorConfiguration()
        configuration.failureObserver = { failures.add($0) }
        try change(&configuration)
        let simulator = try APNsSimulator(configuration, clock: clock)
        try await simulator.start()
        try await attempt {
            try await TestLoop.with { loop in try await body(simulator, failures, loop) }
        } finally: {
            await simulator.stop()
        }
    }
}

extension APNsSimulator {
    /// A connection to it after its handshake. HTTP/2 has not begun.
    func connect(
        host: String = "localhost",
        identity: Identity? = nil,
        alpn: [String] = ["h2"],
        on loop: EventLoop
    ) async throws -> TLSStream {
        try await TLSStream.connect(
            host: host,
            port: port,
            context: .client(identity: identity, trust: .pem(rootPEM), alpn: alpn),
            connectTimeout: .seconds(30),
            handshakeTimeout: .seconds(30),
            on: loop
        )
    }
}

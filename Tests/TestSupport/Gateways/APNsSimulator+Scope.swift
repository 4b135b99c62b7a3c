package import ApplePushSimulator

extension APNsSimulator {
    /// A simulator around a test. It is stopped also if the test throws.
    package static func with<R>(
        _ change: (inout SimulatorConfiguration) throws -> Void = { _ in },
        _ test: (APNsSimulator) async throws -> R
    ) async throws -> R {
        var configuration = SimulatorConfiguration()
        try change(&configuration)
        let simulator = try APNsSimulator(configuration)
        try await simulator.start()
        return try await attempt {
            try await test(simulator)
        } finally: {
            await simulator.stop()
        }
    }
}

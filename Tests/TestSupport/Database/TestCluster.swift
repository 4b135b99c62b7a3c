package import CarillonPostgres

/// One private PostgreSQL for all tests of a process, started on first use. It ends with the process, also when that
/// crashes.
package enum TestCluster {
    private static let start = Task {
        var settings = PrivateCluster.Settings.fast
        settings.listensOnLoopback = true
        settings.parameters["max_prepared_transactions"] = "10"
        return try await PrivateCluster.start(settings, on: TestLoop.shared)
    }

    package static var shared: PrivateCluster {
        get async throws { try await start.value }
    }
}

extension PrivateCluster {
    /// For connecting through 127.0.0.1, with the password.
    package nonisolated func loopbackURL(database: String = "postgres") -> String {
        "postgresql://postgres:\(password)@127.0.0.1:\(port)/\(database)"
    }
}

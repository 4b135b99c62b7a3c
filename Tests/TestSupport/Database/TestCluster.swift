package import CarillonPostgres

/// One private PostgreSQL for all tests of a process, started on first use. It ends with the process, also when that
/// crashes.
package enum TestCluster {
    private static let start = Task {
        var settings = PrivateCluster.Settings.fast
        settings.listensOnLoopback = true
        settings.parameters["max_prepared_transactions"] = "10"
        settings.parameters["log_line_prefix"] = "%m %d "
        return try await PrivateCluster.start(settings, on: TestLoop.shared)
    }

    package static var shared: PrivateCluster {
        get async throws { try await start.value }
    }

    /// The lines that the server has logged of a database, without its name: the time in UTC, and what happened.
    package static func log(of database: String) async throws -> [String] {
        let log = try TemporaryFolder.text(of: try await shared.folder + "/server.log")
        return log.split(separator: "\n").filter { $0.contains(" UTC \(database) ") }.map {
            String($0.replacing(" UTC \(database) ", with: " ", maxReplacements: 1))
        }
    }

    /// How many errors the server has logged of a database, by second, and one of each second.
    package static func errors(of database: String) async throws -> [String: (count: Int, example: String)] {
        let errors = try await log(of: database).filter { $0.contains(" ERROR:  ") }
        return Dictionary(grouping: errors) { String($0.prefix(19)) }.mapValues { ($0.count, $0.last ?? "") }
    }
}

extension PrivateCluster {
    /// For connecting through 127.0.0.1, with the password.
    package nonisolated func loopbackURL(database: String = "postgres") -> String {
        "postgresql://postgres:\(password)@127.0.0.1:\(port)/\(database)"
    }
}

import CarillonIO
package import CarillonPostgres
import Glibc

/// One private PostgreSQL for all tests of a process, started on first use. It ends with the process, also when that
/// crashes.
package enum TestCluster {
    private static let start = Task {
        var settings = PrivateCluster.Settings.fast
        settings.listensOnLoopback = true
        settings.parameters["log_line_prefix"] = "%m %d "
        return try await PrivateCluster.start(settings, on: TestLoop.shared)
    }

    package static var shared: PrivateCluster {
        get async throws { try await start.value }
    }

    /// On a busy machine, PostgreSQL may need long to start a process.
    package static let connectTimeout = Duration.seconds(60)

    /// The URL of a database with that time limit, for workers and commands.
    package static func patientURL(database: String) async throws -> String {
        try await shared.url(database: database) + "&connect_timeout=\(connectTimeout.components.seconds)"
    }

    /// The lines of the server's log that contain a text.
    package static func log(with text: String) async throws -> [String] {
        // The log has megabytes, and tests that wait for a line read it repeatedly, so the C library reads it.
        let path = try await shared.folder + "/server.log"
        guard let file = fopen(path, "r") else { throw IOError(errno: errno, doing: "opening \(path)") }
        var (line, capacity): (UnsafeMutablePointer<CChar>?, Int) = (nil, 0)
        defer {
            fclose(file)
            free(line)
        }
        var found: [String] = []
        while getline(&line, &capacity, file) > 0, let line {
            if strstr(line, text) != nil { found.append(String(String(cString: line).dropLast())) }
        }
        return found
    }

    /// The lines that the server has logged of a database, without its name: the time in UTC, and what happened.
    package static func log(of database: String) async throws -> [String] {
        let name = " UTC \(database) "
        return try await log(with: name).map { String($0.replacing(name, with: " ", maxReplacements: 1)) }
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

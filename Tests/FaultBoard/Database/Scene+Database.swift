import CarillonIO
import CarillonPostgres
import TestSupport

extension PrivateCluster.Settings {
    /// Fast, but what was committed survives a crash of the server.
    static var crashSafe: Self {
        var settings = Self.fast
        settings.parameters = ["synchronous_commit": "on"]
        return settings
    }
}

extension Scene {
    /// The name of the case's database.
    var database: String {
        let path = client.url.split(separator: "?").first ?? ""
        return path.split(separator: "/").last.map(String.init) ?? ""
    }

    /// A proxy before the database, and its URL for a worker.
    func withProxy(_ body: (_ proxy: Proxy, _ url: String) async throws -> Void) async throws {
        try await Proxy.with(to: cluster.port, on: loop) { proxy in
            let port = await proxy.port
            let url = TestLogin.worker.url(cluster.loopbackURL(database: database))
            let pieces = url.split(separator: ":\(cluster.port)/", omittingEmptySubsequences: false)
            try await body(proxy, pieces.joined(separator: ":\(port)/"))
        }
    }

    /// Ends the sessions of all workers by `pg_terminate_backend`.
    func terminateWorkers() async throws {
        try await client.run(
            """
            SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
            WHERE a.datname = current_database() AND a.application_name LIKE 'carillon%'
            """
        )
    }

    /// Ends the sessions of all workers, and waits until each worker has another.
    func renewSessions() async throws {
        let text = "The database is back."
        let before = fleet.running.map { ($0, $0.lines(containing: text).count) }
        try await terminateWorkers()
        for (worker, count) in before { try await worker.says(text, times: count + 1) }
    }
}

package import CarillonIO
import CarillonPostgres

extension TestDatabase {
    /// A proxy before the cluster, and a URL of this database that leads through it.
    ///
    /// - Parameter hasSecond: The URL names the cluster itself as its second host.
    package func withProxy<R>(
        hasSecond: Bool = false,
        on loop: EventLoop,
        _ body: (_ proxy: Proxy, _ url: String) async throws -> R
    ) async throws -> R {
        let cluster = try await TestCluster.shared
        let name = try await value("current_database()") ?? ""
        let direct = "127.0.0.1:\(cluster.port)"
        return try await Proxy.with(to: cluster.port, on: loop) { proxy in
            let hosts = "127.0.0.1:\(await proxy.port)" + (hasSecond ? ",\(direct)" : "")
            let pieces = cluster.loopbackURL(database: name).split(separator: direct, omittingEmptySubsequences: false)
            return try await body(proxy, pieces.joined(separator: hosts))
        }
    }

    /// Whether a session of that application waits for a lock.
    package func waitsForLock(as application: String) async throws -> Bool {
        try await number(
            """
            SELECT count(*) FROM pg_stat_activity a WHERE a.datname = current_database()
                AND a.application_name = '\(application)' AND a.wait_event_type = 'Lock'
            """
        ) > 0
    }
}

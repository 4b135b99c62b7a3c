package import CarillonPostgres

extension TestDatabase {
    /// A migrated database in a cluster of its own.
    package static func withOwnCluster<R>(
        parameters: [String: String] = [:],
        _ body: (_ database: TestDatabase, _ cluster: PrivateCluster) async throws -> R
    ) async throws -> R {
        var settings = PrivateCluster.Settings.fast
        settings.parameters = parameters
        let cluster = try await PrivateCluster.start(settings, on: TestLoop.shared)
        return try await attempt {
            try await migrate(cluster.url())
            return try await open(cluster.url()) { database in try await body(database, cluster) }
        } finally: {
            await cluster.stop()
        }
    }
}

import CarillonPostgres
import CarillonSchema

extension AppStatus {
    /// For pages: nothing is counted beyond a bound, which is lower where there are many apps.
    static func bounded(
        _ name: String? = nil,
        after: String? = nil,
        maxRows: Int64,
        from database: some StatementRunner
    ) async throws -> [AppStatus] {
        let depth = try await ReadDepth.read(for: name, from: database)
        return try await all(named: name, after: after, maxRows: maxRows, countingTo: depth, from: database)
    }
}

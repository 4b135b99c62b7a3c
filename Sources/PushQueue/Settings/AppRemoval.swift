/// What would go with an app, counted.
package struct AppRemoval: Sendable, Equatable {
    package let app: StoredApp
    package let tokens: Int64
    package let feedback: Int64
    /// Keys that keep a message from being enqueued twice.
    package let dedupeKeys: Int64
    /// Tables of its own in which feedback passes delete.
    package let watchedTables: Int64
    /// Rows of results and failures, which stay.
    package let history: Int64
    /// Names of the workers that are alive.
    package let workers: [String]
}

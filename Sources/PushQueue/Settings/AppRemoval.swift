/// What the removal of an app would delete.
package struct AppRemoval: Sendable, Equatable {
    package let app: StoredApp
    package let tokens: Int64
    package let feedback: Int64
    package let dedupeKeys: Int64
    /// Tables of the app's own in which feedback passes delete.
    package let watchedTables: Int64
    /// Rows of `results` and `failures`, which stay.
    package let history: Int64
    /// Names of the workers that are alive.
    package let workers: [String]
}

/// A row of `carillon.schema_migrations`.
struct SchemaRecord: Sendable, Equatable {
    let version: Int
    let name: String
    /// Nil where the file was run by hand.
    let checksum: String?
    let appliedAt: Int64
}

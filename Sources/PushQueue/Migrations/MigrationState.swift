/// What became of one migration in a database.
package struct MigrationState: Sendable, Identifiable, Equatable {
    package enum Condition: String, Sendable {
        /// It is there, and as this program knows it.
        case applied
        /// It is still to come.
        case pending
        /// It is there, but was applied from another text than this program holds.
        case changed
        /// It is there, and this program does not know it.
        case unknown
    }

    package let version: Int
    package let name: String
    package let condition: Condition
    /// Microseconds since 1970.
    package let appliedAt: Int64?

    package var id: Int { version }
}

package import CarillonPostgres

package struct MigrationState: Sendable, Identifiable, Equatable {
    package enum Condition: String, Sendable {
        /// With the text that this program has.
        case applied
        case pending
        /// Applied with another text.
        case changed
        /// Applied, and unknown to this program.
        case unknown
    }

    package let version: Int
    package let name: String
    package let condition: Condition
    package let appliedAt: Moment?

    package var id: Int { version }
}

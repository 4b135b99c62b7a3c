package import CarillonPostgres

/// Which functions, views and rights a database has.
package struct RoutineStatus: Sendable, Equatable {
    /// Of the release that applied them; where none has, of this program.
    package let release: Release
    /// Unknown: a newer release has applied them.
    package let condition: MigrationState.Condition
    package let appliedAt: Moment?
}

import CarillonIO
import CarillonPostgres

/// Why the schema of a database cannot be used or changed.
package struct SchemaError: CodedError {
    package enum Code: Sendable {
        /// There is no schema.
        case missing
        /// The schema is older than the program.
        case outdated
        /// The schema is newer than the program.
        case newer
        /// A migration was applied with another text than the program has.
        case changed
        /// The body of a function names what does not exist, or has another error.
        case invalid
        /// A statement does not use its index.
        case plans
        /// The database is a copy: see `migrations/functions/database/installation.sql`.
        case moved
        /// There is no migration of that number.
        case unknownVersion
        /// A migration failed, and was rolled back.
        case failed
        /// The database did not answer, or reported an error.
        case database
    }

    package let code: Code
    package let message: String
    package let underlying: (any Error)?

    private init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlying = underlying
    }
}

extension SchemaError {
    static let missing = Self(.missing, "The database has no schema carillon yet: run `carillon migrate up`.")

    static func outdated(at version: Int, next: MigrationState) -> Self {
        Self(
            .outdated,
            "The schema carillon is at version \(version) and lacks \(next.version) (\(next.name)), which this program "
                + "needs: run `carillon migrate up`."
        )
    }

    static func newer(_ migration: MigrationState, latest: Int) -> Self {
        Self(
            .newer,
            "The schema carillon has version \(migration.version) (\(migration.name)), and this program knows versions "
                + "up to \(latest): use the program that installed that version, or a newer one."
        )
    }

    static func outdated(_ routines: RoutineStatus, _ needed: Release) -> Self {
        let there =
            routines.condition == .pending
            ? "has no recorded functions, views and rights"
            : "has other functions, views and rights, of \(routines.release),"
        return Self(
            .outdated,
            "The schema carillon \(there) and this program needs those of \(needed): run `carillon migrate up`."
        )
    }

    static func newer(_ routines: RoutineStatus, than own: Release) -> Self {
        Self(
            .newer,
            "The schema carillon has the functions, views and rights of \(routines.release), and this program is \(own): use "
                + "the program that applied them, or a newer one."
        )
    }

    static func invalid(_ error: PostgresError) -> Self {
        Self(
            .invalid,
            "Functions of this program do not fit the schema carillon, and nothing was applied: \(error.message)",
            underlying: error
        )
    }

    static func changed(_ migration: MigrationState) -> Self {
        Self(
            .changed,
            "Version \(migration.version) (\(migration.name)) of the schema carillon was applied from different text than "
                + "this program's: use the release that it came with, and leave applied migrations as they are."
        )
    }

    package static func plans(_ faults: [String]) -> Self {
        Self(
            .plans,
            "The worker's statements do not use their indexes: \(faults.joined(separator: "; ")). An index of carillon."
                + "messages or carillon.scheduled is missing or invalid: create it as the migrations do (`carillon "
                + "migrate sql` prints them), or REINDEX the table."
        )
    }

    static func moved(_ fault: String) -> Self {
        Self(
            .moved,
            "Nothing is sent from here: \(fault). To send pushes from here, run `carillon adopt`; otherwise use the "
                + "database that they belong to."
        )
    }

    static func unknownVersion(_ version: Int, known: [Migration]) -> Self {
        Self(
            .unknownVersion,
            "There is no version \(version) of the schema: versions go from 1 to \(known.last?.version ?? 0)"
                + ", and 0 means no schema."
        )
    }

    /// - Parameter what: what failed, such as "Migration 0003_queue up".
    static func failed(_ what: String, _ error: PostgresError) -> Self {
        let advice: String
        switch error.sqlState {
        case SQLState.dependentObjectsStillExist:  // the details name these objects, and contain no data of rows
            advice = (error.detail.map { "\n\($0)\n" } ?? "") + "Change or drop them, then run the command again."
        case SQLState.lockNotAvailable:
            advice = ". Steps that were completed remain: run the command again when nobody uses these tables."
        default: advice = error.hint.map { ".\n  \($0)" } ?? ""
        }
        return Self(.failed, "\(what) failed and was rolled back: \(error.message)\(advice)", underlying: error)
    }

    /// Whether PostgreSQL refused to create what another session has just created.
    var isAlreadyThere: Bool {
        // Of a catalog, if the value is not unique.
        [SQLState.uniqueViolation, SQLState.duplicateSchema, SQLState.duplicateTable]
            .contains((underlying as? PostgresError)?.sqlState)
    }

    /// Whether a lock was waited for in vain.
    var isOfLock: Bool { (underlying as? PostgresError)?.sqlState == SQLState.lockNotAvailable }

    package init(_ error: any Error) {
        switch error {
        case let error as SchemaError: self = error
        case let error as PostgresError: self = .database(error)
        default: self.init(.database, "\(error)")
        }
    }

    private static func database(_ error: PostgresError) -> Self {
        error.sqlState == SQLState.insufficientPrivilege
            ? Self(
                .database,
                "This user may not use the schema carillon (\(error.message)): connect as its owner, or have a "
                    + "superuser, or an owner with the admin option, run GRANT carillon_worker TO the login.",
                underlying: error
            )
            : Self(.database, error.description, underlying: error)
    }
}

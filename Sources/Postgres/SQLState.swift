/// The SQLSTATE codes that the program tells apart.
package enum SQLState {
    package static let insufficientPrivilege = "42501"
    package static let lockNotAvailable = "55P03"
    package static let undefinedTable = "42P01"
    package static let undefinedFunction = "42883"
    package static let undefinedColumn = "42703"
    package static let undefinedSchema = "3F000"

    package static let undefinedObject = "42704"
    static let syntaxError = "42601"
    package static let duplicateObject = "42710"
    package static let duplicateTable = "42P07"
    package static let duplicateSchema = "42P06"
    static let duplicateStatement = "42P05"
    static let undefinedStatement = "26000"
    package static let invalidFunctionDefinition = "42P13"
    package static let foreignKeyViolation = "23503"
    package static let uniqueViolation = "23505"
    package static let dependentObjectsStillExist = "2BP01"
    package static let objectInUse = "55006"
    /// The statement timeout has passed, or somebody has cancelled the statement.
    package static let queryCanceled = "57014"
    package static let outOfMemory = "53200"
    static let tooManyConnections = "53300"
    package static let internalError = "XX000"
    static let featureNotSupported = "0A000"
    static let readOnlyTransaction = "25006"
    static let wrongPassword = "28P01"
    static let undefinedDatabase = "3D000"
    static let cannotConnectNow = "57P03"
    /// An unknown token of a program.
    package static let unknownLogin = "28000"
    /// The token lacks a right, or is for another app.
    package static let lacksRight = "28T01"

    /// The schema is missing or of a different version than the program.
    package static let wrongSchema: Set<String> = [undefinedTable, undefinedFunction, undefinedColumn, undefinedSchema]

    /// Whether a statement does not fit the schema or the rights in it, as between two steps of an upgrade. That says nothing about a
    /// row. But a value that is cast to a type such as `ltree` or `regrole` may raise the two that are left out.
    package static func isOfSchemaOrRights(_ state: String?) -> Bool {
        guard let state, state != syntaxError, state != undefinedObject else { return false }
        return state == undefinedSchema || state.hasPrefix("42")
    }

    /// A function of the schema refused a value and named it.
    package static let badValue = "22023"
    package static let tooLarge = "54000"
    /// JSON that is nested more deeply than PostgreSQL's stack allows.
    package static let tooDeep = "54001"
    /// In a notice: devices do nothing with the push.
    package static let ignoredByDevices = "01IGN"
    /// In a notice: a value that this version does not know was not checked.
    package static let unknownValue = "01UNK"
    /// Nothing may be sent from this database: it is a copy, or the connection has the wrong name.
    package static let wrongPlace = "55000"

    /// A function of the schema refused a value, or the value has the wrong type: the caller can fix it.
    package static let badArgument: Set<String> = [badValue, "22P02", "22003", tooLarge, tooDeep]

    /// The server is starting, shutting down or has been stopped.
    package static let unavailable: Set<String> = ["57P01", "57P02", cannotConnectNow]

    /// Locks and time limits, a failover, and what a pooler does to prepared statements: see `PostgresError.isTransient`.
    static let transient: Set<String> = [
        lockNotAvailable, "25P03", "25P04", readOnlyTransaction, undefinedStatement, duplicateStatement,
    ]
}

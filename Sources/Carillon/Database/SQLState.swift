/// The SQLSTATE codes that the program tells apart.
enum SQLState {
    static let insufficientPrivilege = "42501"
    static let lockNotAvailable = "55P03"
    static let undefinedTable = "42P01"
    static let undefinedFunction = "42883"
    static let undefinedColumn = "42703"
    static let undefinedSchema = "3F000"

    static let undefinedObject = "42704"
    static let duplicateObject = "42710"
    /// A token of a program that is not known.
    static let unknownLogin = "28000"

    /// The schema is missing, or is of another version than the program.
    static let wrongSchema: Set<String> = [undefinedTable, undefinedFunction, undefinedColumn, undefinedSchema]

    /// A function of the schema rejected a value, and says which.
    static let badValue = "22023"
    static let tooLarge = "54000"
    /// JSON that is nested more deeply than PostgreSQL's stack allows.
    static let tooDeep = "54001"

    /// A function of the schema rejected a value, or the value has the wrong type: the caller can fix it.
    static let badArgument: Set<String> = [badValue, "22P02", "22003", tooLarge, tooDeep]

    /// The server is shutting down, starting, or was stopped.
    static let unavailable: Set<String> = ["57P01", "57P02", "57P03"]
}

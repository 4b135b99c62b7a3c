/// The SQLSTATE codes that the program tells apart.
package enum SQLState {
    package static let insufficientPrivilege = "42501"
    package static let lockNotAvailable = "55P03"
    package static let undefinedTable = "42P01"
    package static let undefinedFunction = "42883"
    package static let undefinedColumn = "42703"
    package static let undefinedSchema = "3F000"

    package static let undefinedObject = "42704"
    package static let duplicateObject = "42710"
    /// An unknown token of a program.
    package static let unknownLogin = "28000"

    /// The schema is missing or of a different version than the program.
    package static let wrongSchema: Set<String> = [undefinedTable, undefinedFunction, undefinedColumn, undefinedSchema]

    /// The schema, or the rights in it, are not as they should be. That says nothing about a row.
    package static let wrongSchemaOrRights = wrongSchema.union([insufficientPrivilege])

    /// A function of the schema rejected a value and named it.
    package static let badValue = "22023"
    package static let tooLarge = "54000"
    /// JSON that is nested more deeply than PostgreSQL's stack allows.
    package static let tooDeep = "54001"
    /// In a notice: devices do nothing with the push.
    package static let ignoredByDevices = "01IGN"
    /// Nothing may be sent from this database: it is a copy, or the connection has the wrong name.
    package static let wrongPlace = "55000"

    /// A function of the schema rejected a value, or the value has the wrong type: the caller can fix it.
    package static let badArgument: Set<String> = [badValue, "22P02", "22003", tooLarge, tooDeep]

    /// The server is starting, shutting down or has been stopped.
    package static let unavailable: Set<String> = ["57P01", "57P02", "57P03"]
}

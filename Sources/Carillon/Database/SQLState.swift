/// The five letters by which PostgreSQL names an error, as far as we tell them apart.
enum SQLState {
    static let insufficientPrivilege = "42501"
    static let lockNotAvailable = "55P03"
    static let undefinedTable = "42P01"
    static let undefinedFunction = "42883"
    static let undefinedColumn = "42703"
    static let undefinedSchema = "3F000"

    static let undefinedObject = "42704"

    /// The schema is not there, or not the one that the program was built with.
    static let wrongSchema: Set<String> = [undefinedTable, undefinedFunction, undefinedColumn, undefinedSchema]

    /// A value that a function of ours refused, or that is not of its type: whoever called can mend it.
    static let badArgument: Set<String> = ["22023", "22P02", "22003", "54000"]

    /// The server is shutting down, starting or was stopped.
    static let unavailable: Set<String> = ["57P01", "57P02", "57P03"]
}

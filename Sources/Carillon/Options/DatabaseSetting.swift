import Postgres

/// Where a database is: what an argument, a variable or a file said at the start, and the file that may say something else
/// by now.
struct DatabaseSetting: Sendable, Equatable {
    let text: String
    let file: DatabaseFile?

    init(_ text: String, in file: DatabaseFile? = nil) {
        self.text = text
        self.file = file
    }

    /// For as long as the program runs.
    var source: DatabaseSource {
        guard let file else { return DatabaseSource(text) }
        return DatabaseSource { () throws(PostgresError) in try file.read() }
    }
}

import CarillonPostgres

/// Where a database is: the text of the argument, variable or file at the start, and the file, whose content may have
/// changed since.
struct DatabaseSetting: Sendable, Equatable {
    let text: String
    let file: DatabaseFile?

    init(_ text: String, in file: DatabaseFile? = nil) {
        self.text = text
        self.file = file
    }

    /// Read again for each connection.
    var source: DatabaseSource {
        guard let file else { return DatabaseSource(text) }
        return DatabaseSource { () throws(PostgresError) in try file.read() }
    }
}

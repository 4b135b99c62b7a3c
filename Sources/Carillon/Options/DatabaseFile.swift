import CarillonPostgres
import CarillonText

/// A file that names one or several databases, and the index of one of them in it. It is read again for each
/// connection, so that a password can be changed while the program runs.
struct DatabaseFile: Sendable, Equatable {
    let path: String
    let separator: Option.Separator?
    let index: Int
    /// How many databases the file named at the start.
    let count: Int

    /// Errors are treated as temporary, like that of a server that does not answer: the file may be being written.
    func read() throws(PostgresError) -> String {
        let text: String
        do throws(FileError) {
            text = try SmallFile.read(path).secret
        } catch {
            throw PostgresError(.unreachable, error.sentence, hint: Self.advice)
        }
        guard !text.isEmpty else { throw PostgresError(.unreachable, Self.emptiness(of: path), hint: Self.advice) }
        let texts = separator?.split(text) ?? [text]
        guard texts.count == count else {
            throw PostgresError(
                .unreachable,
                "The file \(path) named \(Counted.text(Int64(count), "database")) at the start, and names \(texts.count) now",
                hint: "restart the program after changing the number of databases"
            )
        }
        return texts[index]
    }

    static func emptiness(of path: String, lacking content: String = "the database's URL") -> String {
        "The file \(path) is empty: write \(content) into it"
    }

    private static let advice = "it is read again for each connection, which uses the password that it then contains"
}

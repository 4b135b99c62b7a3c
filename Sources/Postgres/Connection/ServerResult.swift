import CarillonCPostgres
import CarillonText

/// A result from libpq, freed with its last reference.
///
/// `@unchecked`, because libpq no longer uses the result and this class only reads it. A function that writes to a result, such as
/// `PQsetvalue`, would break that, and so would one that calls the notice receiver of the session, which may be gone: libpq calls
/// it for a row or a column that does not exist, so callers check both.
final class ServerResult: @unchecked Sendable {
    let pointer: OpaquePointer
    let notices: [ServerNotice]

    init(owning pointer: OpaquePointer, notices: [ServerNotice] = []) {
        self.pointer = pointer
        self.notices = notices
    }

    deinit { PQclear(pointer) }

    var status: ExecStatusType { PQresultStatus(pointer) }
    var rowCount: Int { Int(PQntuples(pointer)) }
    var columnCount: Int { Int(PQnfields(pointer)) }

    /// The rows inserted, updated, deleted or selected. `PQcmdTuples` would call the notice receiver for a tag that it does not
    /// know.
    var affectedRows: Int { commandTag.split(separator: " ").last.flatMap { Int($0) } ?? 0 }

    /// As in "COMMIT" or "INSERT 0 3".
    var commandTag: String { String(cString: PQcmdStatus(pointer)) }

    func columnType(_ column: Int) -> UInt32 { PQftype(pointer, CInt(column)) }

    func columnName(_ column: Int) -> String {
        PQfname(pointer, CInt(column)).map { String(cString: $0) } ?? ""
    }

    func index(of column: StaticString) -> Int? {
        let index = PQfnumber(pointer, UnsafeRawPointer(column.utf8Start).assumingMemoryBound(to: CChar.self))
        return index < 0 ? nil : Int(index)
    }

    func error(effect: PostgresError.Effect) -> PostgresError {
        let sqlState = field("C")
        var error = PostgresError(
            .server,
            field("M") ?? String(cString: PQresultErrorMessage(pointer)).trimmed,
            effect: effect,
            sqlState: sqlState,
            hint: field("H"),
            detail: field("D"),
            constraint: field("n")
        )
        if sqlState == SQLState.lockNotAvailable { error.lockedRelation = field("W").flatMap(Self.relation) }
        if SQLState.isOfSchemaOrRights(sqlState) {
            error.isOfTrigger = field("W").map(Self.hasTrigger) ?? false
        }
        error.isOfNotifications = sqlState == SQLState.tooLarge && field("F").map(Self.isOfNotifications) ?? false
        return error
    }

    /// Whether the file of PostgreSQL's source that raised an error is the one about notifications. Its name is the same in every
    /// language of messages.
    static func isOfNotifications(_ file: String) -> Bool { file == "async.c" }

    /// The table in the error context of a locked row, such as: while updating tuple (0,1) in relation "results". No other field
    /// names the table. Nil if the server's messages are in another language.
    private static func relation(in context: String) -> String? {
        guard let start = context.firstRange(of: "in relation \"")?.upperBound,
            let end = context[start...].firstIndex(of: "\"")
        else { return nil }
        return String(context[start..<end])
    }

    /// Whether a trigger is in the error context: a function of PL/pgSQL without arguments, or one of another procedural language,
    /// in which none of ours is written. Only these words are the same in every language of messages.
    static func hasTrigger(_ context: String) -> Bool {
        context.split(separator: "\n").contains { line in
            guard let name = line.firstRange(of: "PL/"), !line[..<name.lowerBound].contains("\"") else { return false }
            let rest = line[name.upperBound...]
            return !rest.hasPrefix("pgSQL") || rest.contains("()")
        }
    }

    /// Whether the error ends the session: `ERROR` ends only the statement. `V` is the untranslated severity.
    var endsSession: Bool {
        let severity = field("V")
        return severity == nil || severity == "FATAL" || severity == "PANIC"
    }

    /// Whether the error is libpq's own: the connection broke, or an answer could not be received. The server's errors always have
    /// a severity.
    var isOfLibpq: Bool { field("V") == nil }

    private func field(_ code: Unicode.Scalar) -> String? {
        PQresultErrorField(pointer, CInt(code.value)).map { String(cString: $0) }
    }
}

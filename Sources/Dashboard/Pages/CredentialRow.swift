import CarillonPostgres
import CarillonSchema
import CarillonText

struct CredentialRow: RowReadable, JSONConvertible {
    let name: String
    let status: String?
    let end: Moment?
    /// Seconds.
    let expiresIn: Int64?
    let error: String?
    let apps: [String]

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        name = try rows.string(row, "name")
        status = try rows.stringIfPresent(row, "status")
        end = try rows.timestampIfPresent(row, "not_after").map(Moment.init)
        expiresIn = try rows.int64IfPresent(row, "expires_in_seconds")
        error = try rows.stringIfPresent(row, "error")
        apps = try rows.strings(row, "apps").compactMap { $0 }
    }

    var json: JSONValue {
        [
            "name": name, "status": status, "not_after": end, "expires_in_seconds": expiresIn, "error": error,
            "apps": apps,
        ]
    }
}

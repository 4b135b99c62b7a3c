import CarillonIO
import CarillonText
import Glibc

/// Parses libpq's report of a failed connection.
///
/// The server's part looks like `FATAL: 28P01: password authentication failed for user "x"`, followed by a location in the server's
/// source. There is one part for each host.
struct LibpqReport {
    let message: String
    let sqlState: String?

    init(_ report: String) {
        var sentences: [String] = []
        var sqlState: String?
        for line in report.split(separator: "\n") {
            let text = String(line).trimmed
            if text.isEmpty || Self.isLocation(text) { continue }
            if let (before, state, after) = Self.split(text) {
                sqlState = sqlState ?? state
                sentences.append((before.trimmed + " " + after).trimmed)
            } else {
                sentences.append(text)
            }
        }
        message = sentences.joined(separator: "; ")
        self.sqlState = sqlState
    }

    /// - Parameter isNamed: whether the connection string or the environment names a server.
    func error(isNamed: Bool = true) -> PostgresError {
        let (code, hint): (PostgresError.Code, String) =
            switch sqlState {
            case SQLState.wrongPassword?, SQLState.unknownLogin?:
                (.authentication, "check the user and the password, and the server's pg_hba.conf")
            case SQLState.undefinedDatabase?:
                (.authentication, "create the database, or name another one in the connection string")
            case SQLState.cannotConnectNow?: (.unreachable, "it is starting or stopping: try again in a moment")
            case SQLState.tooManyConnections?:
                (.unreachable, "it has no connection left: raise max_connections or use fewer workers")
            case nil where message.hasPrefix("invalid "): (.malformedURL, ConnectionString.advice)
            case nil where message.contains("no password supplied"):
                (.authentication, "it asks for a password: put one into the URL, PGPASSWORD or ~/.pgpass")
            case nil where message.contains("session is read-only"):
                (
                    .unreachable,
                    "it is a standby, or was set read-only: name the server that takes writes, or all of them, as in "
                        + "postgresql://HOST1,HOST2/DATABASE"
                )
            case nil where message.contains(IOError.text(of: EMFILE)):
                (.unreachable, IOError.advice(onShortage: EMFILE) ?? "")
            case nil where message.contains("translate host name") && IOError.shortageOfLookup != nil:
                (.unreachable, IOError.shortageOfLookup.flatMap(IOError.advice) ?? "")
            case nil where !isNamed: (.unnamed, "name the server")
            case nil:
                (.unreachable, "check that PostgreSQL runs there and that host, port and TLS settings are right")
            case let state? where state.hasPrefix("28"): (.authentication, "check how this user may log in")
            default: (.unreachable, "see the server's log")
            }
        return PostgresError(code, message, sqlState: sqlState, hint: hint)
    }

    /// As in `LOCATION:  auth_failed, auth.c:326`, in any language.
    private static func isLocation(_ line: String) -> Bool {
        guard let colon = line.lastIndex(of: ":") else { return false }
        let number = line[line.index(after: colon)...]
        return !number.isEmpty && number.allSatisfy(\.isNumber) && line[..<colon].hasSuffix(".c")
    }

    /// Splits the line around the first SQLSTATE, as in `28P01: `.
    private static func split(_ line: String) -> (before: String, state: String, after: String)? {
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        guard let index = words.dropLast().firstIndex(where: isState) else { return nil }
        return (
            words[..<index].joined(separator: " "), String(words[index].dropLast()),
            words[(index + 1)...].joined(separator: " ")
        )
    }

    /// Five capital letters and digits, at least one digit, and a colon.
    private static func isState(_ word: Substring) -> Bool {
        let (digits, letters) = (UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"))
        let state = word.utf8.dropLast()
        return word.hasSuffix(":") && state.count == 5 && state.contains { digits ~= $0 }
            && state.allSatisfy { digits ~= $0 || letters ~= $0 }
    }
}

import CarillonCPostgres
import CarillonText
import Glibc

/// A libpq connection string. It is passed to libpq unchanged; this type only checks it and adds our defaults. libpq's messages
/// never contain what it parses as the password.
struct ConnectionString: Sendable {
    let text: String

    init(_ text: String) throws(PostgresError) {
        self.text = text.trimmed
        try check()
    }

    static let advice = """
        Write it as postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with any of : / ? # [ ] @ % in the password \
        percent-encoded ("@" is %40, "/" is %2F), or as host=HOST dbname=DATABASE user=USER
        """

    private static func malformed(_ sentence: String) -> PostgresError {
        PostgresError(.malformedURL, sentence, hint: advice)
    }

    private var isURL: Bool { text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") }

    private func check() throws(PostgresError) {
        if text.utf8.contains(0) {
            throw Self.malformed("The database's connection string contains a zero byte.")
        }
        if let scheme = text.firstRange(of: "://"), !isURL {
            // Otherwise libpq would take the whole string, including the password, for a database name.
            let name = text[..<scheme.lowerBound]
            if !name.isEmpty, !name.contains(" "), !name.contains("=") {
                throw Self.malformed("The database's URL begins with \(name)://, not with postgresql://.")
            }
        }
        if isAmbiguous {
            throw Self.malformed("The database's URL has an @ that is not the end of its user and password.")
        }
        if text.isEmpty { return }
        // libpq would take a single word for a database name; here it is an error.
        var complaint: UnsafeMutablePointer<CChar>?
        if let options = PQconninfoParse(text, &complaint) {
            PQconninfoFree(options)
            return
        }
        let reason = complaint.map { String(cString: $0) } ?? "out of memory"
        PQfreemem(complaint)
        throw Self.malformed(
            "The database's connection string cannot be understood: \(Self.withoutQuotations(reason))."
        )
    }

    /// Whether the URL's password seems not to be percent-encoded: libpq would take parts of it for the host, the port or the
    /// database, and show them in its messages. To libpq, the first `@` ends user and password, unless a slash precedes it.
    private var isAmbiguous: Bool {
        guard isURL, let start = text.firstRange(of: "://")?.upperBound else { return false }
        let rest = text[start...]
        let end = rest.firstIndex { $0 == "@" || $0 == "/" }
        let place = end.map { rest[$0] == "@" ? rest[rest.index(after: $0)...] : rest } ?? rest
        guard let another = place.prefix(while: { $0 != "?" }).firstIndex(of: "@") else { return false }
        return rest[..<another].contains(":")
    }

    /// libpq quotes what it could not read, which may be a part of the password.
    private static func withoutQuotations(_ complaint: String) -> String {
        let parts = complaint.trimmed.split(separator: "\"", omittingEmptySubsequences: false)
        return parts.enumerated().map { $0.isMultiple(of: 2) ? String($1) : "…" }.joined()
    }

    // MARK: What libpq is given

    /// Keywords and values for libpq; of equal keywords, the last wins.
    func keywords(application: String, to kind: ServerKind = .any) -> [(keyword: String, value: String)] {
        var keywords: [(String, String)] = [
            // Detect a lost peer within 15 seconds, whether sending or waiting.
            ("keepalives_idle", "5"),
            ("keepalives_interval", "3"),
            ("keepalives_count", "3"),
            ("tcp_user_timeout", "12000"),
            ("fallback_application_name", application),
        ]
        if kind == .writable, getenv("PGTARGETSESSIONATTRS") == nil {
            keywords.append(("target_session_attrs", "read-write"))
        }
        // libpq takes an empty value for a database name; without one it uses the environment.
        if !text.isEmpty { keywords.append(("dbname", text)) }
        keywords.append(("client_encoding", "UTF8"))
        return keywords
    }

    /// The time limit for connecting to a host, from the string or the environment, as libpq reads it.
    var timeout: Duration? {
        guard let seconds = value("connect_timeout", "PGCONNECT_TIMEOUT").flatMap({ Int64($0.trimmed) }),
            seconds > 0
        else { return nil }
        return .seconds(seconds)
    }

    /// Whether the string or the environment names the server.
    var isNamed: Bool {
        let variables: [String] = ["PGHOST", "PGHOSTADDR", "PGSERVICE"]
        return !text.isEmpty || variables.contains { getenv($0) != nil }
    }

    /// Those that the string or the environment names; a service file may name others.
    var hosts: HostList {
        HostList(
            host: value("host", "PGHOST") ?? "",
            address: value("hostaddr", "PGHOSTADDR") ?? "",
            port: value("port", "PGPORT") ?? ""
        )
    }

    var hostCount: Int { max(1, hosts.count) }

    /// The value of a keyword in the string, or else in the environment.
    func value(_ name: String, _ variable: String) -> String? {
        Self.values(in: PQconninfoParse(text, nil))[name] ?? getenv(variable).map { String(cString: $0) }
    }

    /// The values set in a list of libpq options. Frees the list.
    static func values(in options: UnsafeMutablePointer<PQconninfoOption>?) -> [String: String] {
        defer { PQconninfoFree(options) }
        var values: [String: String] = [:]
        var next = options
        while let option = next?.pointee, let keyword = option.keyword {
            if let value = option.val { values[String(cString: keyword)] = String(cString: value) }
            next = next.map { $0 + 1 }
        }
        return values
    }
}

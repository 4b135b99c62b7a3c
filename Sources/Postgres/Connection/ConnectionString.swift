import CPostgres
import Glibc

/// What says where the database is. It goes to libpq as it is; here it is only checked, and given our defaults where it and
/// the environment are silent. What libpq reads as a password is in none of its messages.
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

    private var isURL: Bool { text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") }

    private func check() throws(PostgresError) {
        if text.utf8.contains(0) {
            throw PostgresError(.malformedURL, "The database's connection string holds a zero byte.", hint: Self.advice)
        }
        if let scheme = text.range(of: "://"), !isURL {
            // Without this libpq would take the whole string, password included, for the name of a database.
            let name = text[..<scheme.lowerBound]
            let isWord = !name.isEmpty && name.utf8.allSatisfy { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "=") }
            if isWord {
                throw PostgresError(
                    .malformedURL,
                    "The database's URL begins with \(name)://, not with postgresql://.",
                    hint: Self.advice
                )
            }
        }
        if isAmbiguous {
            throw PostgresError(
                .malformedURL,
                "The database's URL has an @ that is not the end of its user and password.",
                hint: Self.advice
            )
        }
        // What is neither a URL nor a list of keywords would be the name of a database too.
        if text.isEmpty { return }
        var complaint: UnsafeMutablePointer<CChar>?
        if let options = PQconninfoParse(text, &complaint) {
            PQconninfoFree(options)
            return
        }
        let reason = complaint.map { String(cString: $0) } ?? "out of memory"
        PQfreemem(complaint)
        throw PostgresError(
            .malformedURL,
            "The database's connection string cannot be understood: \(Self.withoutQuotations(reason)).",
            hint: Self.advice
        )
    }

    /// A URL whose password is not percent-encoded: libpq would take pieces of the password for the host, the port or the
    /// database, and show them in its messages. To libpq the first `@` ends the user and the password, unless a slash comes
    /// before it.
    private var isAmbiguous: Bool {
        guard isURL, let start = text.range(of: "://")?.upperBound else { return false }
        let rest = text[start...]
        let end = rest.firstIndex { $0 == "@" || $0 == "/" }
        let place = end.map { rest[$0] == "@" ? rest[rest.index(after: $0)...] : rest } ?? rest
        guard let another = place.prefix(while: { $0 != "?" }).firstIndex(of: "@") else { return false }
        return rest[..<another].contains(":")
    }

    /// libpq quotes what it could not read, and that may well be a piece of the password.
    private static func withoutQuotations(_ complaint: String) -> String {
        var kept = ""
        for (index, part) in complaint.trimmed.split(separator: "\"", omittingEmptySubsequences: false).enumerated() {
            kept += index.isMultiple(of: 2) ? part : "…"
        }
        return kept
    }

    // MARK: What libpq is given

    /// Keywords and values in the order in which libpq reads them: what comes later wins.
    func keywords(application: String, to kind: ServerKind = .any) -> [(keyword: String, value: String)] {
        var keywords: [(String, String)] = [
            // A peer that is gone without a word is noticed within a quarter of a minute, sending or silent.
            ("keepalives_idle", "5"),
            ("keepalives_interval", "3"),
            ("keepalives_count", "3"),
            ("tcp_user_timeout", "12000"),
            ("fallback_application_name", application),
        ]
        if kind == .writable, getenv("PGTARGETSESSIONATTRS") == nil {
            keywords.append(("target_session_attrs", "read-write"))
        }
        // An empty value would be the name of a database to libpq; without any it looks at the environment.
        if !text.isEmpty { keywords.append(("dbname", text)) }
        // Text is bytes that pass through here, and JSON and Swift both are UTF-8.
        keywords.append(("client_encoding", "UTF8"))
        return keywords
    }

    /// The seconds that the user allows for connecting to a host, as libpq would have found them.
    var timeout: Duration? {
        guard let seconds = value("connect_timeout", "PGCONNECT_TIMEOUT").flatMap({ Int64($0.trimmed) }),
            seconds > 0
        else { return nil }
        return .seconds(seconds)
    }

    /// Whether it, or the environment, says where the server is.
    var isNamed: Bool {
        let variables: [String] = ["PGHOST", "PGHOSTADDR", "PGSERVICE"]
        return !text.isEmpty || variables.contains { getenv($0) != nil }
    }

    /// How many hosts it names.
    var hostCount: Int {
        let hosts = HostList(
            host: value("host", "PGHOST") ?? "",
            address: value("hostaddr", "PGHOSTADDR") ?? "",
            port: ""
        )
        return max(1, hosts.count)
    }

    /// What the string says of a keyword, else the environment.
    func value(_ name: String, _ variable: String) -> String? {
        var text = getenv(variable).map { String(cString: $0) }
        if let options = PQconninfoParse(self.text, nil) {
            defer { PQconninfoFree(options) }
            var option = options
            while let keyword = option.pointee.keyword {
                if String(cString: keyword) == name, let value = option.pointee.val { text = String(cString: value) }
                option += 1
            }
        }
        return text
    }
}

extension String {
    /// The first place where the text stands.
    func range(of text: String) -> Range<String.Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
            start = index(after: start)
        }
        return nil
    }
}

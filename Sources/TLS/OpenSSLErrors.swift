import COpenSSL

/// What OpenSSL left in this thread's error queue, taken out at once after the call that failed.
struct OpenSSLErrors {
    struct Entry {
        let library: CInt
        let reason: CInt
        let text: String
    }

    let entries: [Entry]

    /// The last entry is the outermost, the first the cause.
    static func take() -> Self {
        var entries: [Entry] = []
        while true {
            let code = ERR_get_error()
            if code == 0 { break }
            let text = ERR_reason_error_string(code).map { String(cString: $0) } ?? "error \(code)"
            entries.append(Entry(library: ERR_GET_LIB(code), reason: ERR_GET_REASON(code), text: text))
        }
        return Self(entries: entries)
    }

    func contains(library: CInt, reason: CInt) -> Bool {
        self.entries.contains { $0.library == library && $0.reason == reason }
    }

    /// OpenSSL's own words, for the end of a sentence.
    var text: String {
        self.entries.isEmpty ? "no reason given" : self.entries.map(\.text).joined(separator: ", ")
    }
}

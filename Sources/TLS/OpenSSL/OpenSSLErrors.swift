import CarillonCOpenSSL

/// The contents of this thread's OpenSSL error queue, taken right after the failed call.
struct OpenSSLErrors: Error {
    struct Entry {
        let library: CInt
        let reason: CInt
        let text: String
    }

    /// The first is the cause, the last the outermost.
    let entries: [Entry]

    static func take() -> Self {
        var entries: [Entry] = []
        while case let code = ERR_get_error(), code != 0 {
            let text = ERR_reason_error_string(code).map { String(cString: $0) } ?? "error \(code)"
            entries.append(Entry(library: ERR_GET_LIB(code), reason: ERR_GET_REASON(code), text: text))
        }
        return Self(entries: entries)
    }

    func contains(library: CInt, reason: CInt) -> Bool {
        entries.contains { $0.library == library && $0.reason == reason }
    }

    /// Whether an old algorithm was needed, such as 40-bit RC2, which Keychain still writes. OpenSSL 3 has these only in its legacy
    /// provider.
    var isOldAlgorithm: Bool {
        contains(library: ERR_LIB_EVP, reason: CInt(ERR_R_UNSUPPORTED))
            || contains(library: ERR_LIB_EVP, reason: EVP_R_UNSUPPORTED_ALGORITHM)
    }

    /// There was no memory for what was asked. Only then do OpenSSL's errors say nothing about its input.
    var isShortage: Bool { entries.contains { $0.reason == CInt(ERR_R_MALLOC_FAILURE) } }

    /// OpenSSL's text, for the end of a sentence.
    var text: String {
        entries.isEmpty ? "no reason given" : entries.map(\.text).joined(separator: ", ")
    }
}

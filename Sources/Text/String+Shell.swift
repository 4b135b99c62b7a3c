extension String {
    /// As a word of a command: the text itself if a shell takes it literally, otherwise in single quotes.
    package var shellQuoted: String {
        let isPlain = !isEmpty && utf8.allSatisfy { $0.isLetterOrDigit || "-_.".utf8.contains($0) }
        return isPlain ? self : "'" + replacing("'", with: "'\\''") + "'"
    }
}

extension String {
    /// In quotes, where a list with commas between could be read in two ways: any text may be a name.
    var listed: String {
        let isPlain = !contains { $0 == "," || $0 == "\"" || $0.isWhitespace }
        return isPlain ? self : "\"" + replacing("\"", with: "\\\"") + "\""
    }
}

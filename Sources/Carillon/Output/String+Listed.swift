extension String {
    /// Quoted if it would be ambiguous in a list with commas: any text can be a name.
    var listed: String {
        let isPlain = !contains { $0 == "," || $0 == "\"" || $0.isWhitespace }
        return isPlain ? self : "\"" + replacing("\"", with: "\\\"") + "\""
    }
}

extension String {
    /// Without the white space around it.
    var trimmed: String {
        var text = Substring(self)
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return String(text)
    }

    func replacing(_ secret: String, with replacement: String) -> String {
        split(separator: secret, omittingEmptySubsequences: false).joined(separator: replacement)
    }
}

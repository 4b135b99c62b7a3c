extension String {
    /// The text with a capital first letter and a full stop at the end.
    package var asSentence: String {
        guard let first, let last else { return self }
        let end = ".!?".contains(last) ? "" : "."
        return first.uppercased() + dropFirst() + end
    }
}

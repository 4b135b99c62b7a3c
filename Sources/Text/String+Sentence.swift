extension String {
    /// Capitalized, with a full stop at the end.
    package var asSentence: String {
        guard let first, let last else { return self }
        let end = ".!?".contains(last) ? "" : "."
        return first.uppercased() + dropFirst() + end
    }
}

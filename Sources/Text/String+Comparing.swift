extension StringProtocol {
    /// Whether it has at most 128 combining characters, such as accents, in a row.
    ///
    /// To compare or hash two texts, or two characters, Swift sorts each such row, in quadratic time: with a row of 32,000 each
    /// comparison takes half a second. A text of a stranger is refused if this is false, before anything compares it.
    package var isCheapToCompare: Bool {
        guard utf8.contains(where: { $0 >= 0x80 }) else { return true }
        var row = 0
        for scalar in unicodeScalars {
            row = scalar.isASCII || scalar.properties.canonicalCombiningClass == .notReordered ? 0 : row + 1
            if row > 128 { return false }
        }
        return true
    }
}

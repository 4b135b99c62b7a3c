extension String {
    /// The same with all that a terminal obeys written out, as in \u{1b}: names and reasons are other people's words.
    var visible: String {
        guard self.unicodeScalars.contains(where: Self.steers) else { return self }
        return self.unicodeScalars.reduce(into: "") { text, scalar in
            if Self.steers(scalar) {
                text += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
    }

    /// Control characters, breaks of lines, and marks that turn the direction of writing.
    private static func steers(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

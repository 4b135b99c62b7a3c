extension String {
    /// The text with control characters escaped, as in \u{1b}. Names and reasons come from outside and must not control the
    /// terminal.
    package var visible: String {
        guard unicodeScalars.contains(where: Self.steers) else { return self }
        return unicodeScalars.reduce(into: "") { text, scalar in
            if Self.steers(scalar) {
                text += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
    }

    /// Whether the scalar is a control character, a line break, or a character that changes the writing direction.
    private static func steers(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

package enum Counted {
    /// "1 token", "12,000 tokens".
    package static func text(_ count: Int64, _ one: String, _ many: String? = nil) -> String {
        count == 1 ? "1 \(one)" : "\(Int(count).grouped) \(many ?? one + "s")"
    }

    /// "a", "a and b", "a, b and c".
    package static func list(_ parts: [String]) -> String {
        guard parts.count > 1, let last = parts.last else { return parts.first ?? "" }
        return parts.dropLast().joined(separator: ", ") + " and " + last
    }
}

extension Int {
    /// The number with commas between groups of three digits.
    package var grouped: String {
        var text = ""
        for (index, digit) in String(magnitude).reversed().enumerated() {
            if index > 0, index % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return (self < 0 ? "-" : "") + String(text.reversed())
    }
}

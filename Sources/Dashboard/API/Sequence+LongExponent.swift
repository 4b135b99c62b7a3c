extension Sequence<UInt8> {
    /// Whether JSON has a number whose exponent has more than three digits. PostgreSQL keeps 1e130000 as it is, but its text has 130
    /// kB, so a body of 256 kB would become several GB there.
    var hasLongExponent: Bool {
        var isInString = false
        var isEscaped = false
        /// How many digits of an exponent were read; nil outside exponents.
        var digits: Int?
        for byte in self {
            if isInString {
                isInString = isEscaped || byte != UInt8(ascii: "\"")
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): (isInString, digits) = (true, nil)
            case UInt8(ascii: "e"), UInt8(ascii: "E"): digits = 0
            case UInt8(ascii: "+"), UInt8(ascii: "-"): break
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                digits = digits.map { $0 + 1 }
                if let digits, digits > 3 { return true }
            default: digits = nil
            }
        }
        return false
    }
}

extension UInt8 {
    /// Whether it is one of a–z, A–Z and 0–9 in ASCII. Inlined, because the simulator calls it for every byte of a topic.
    @inlinable
    package var isLetterOrDigit: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}

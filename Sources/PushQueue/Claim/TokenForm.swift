/// How a device token is written: 1 to 256 bytes in hexadecimal.
enum TokenForm: Equatable, Sendable {
    case lowerCase
    /// With capital letters. It is the same token.
    case mixedCase
    case malformed

    init(_ token: RawSpan) {
        guard token.byteCount > 0, token.byteCount <= 512, token.byteCount % 2 == 0 else {
            self = .malformed
            return
        }
        self = .lowerCase
        for offset in token.byteOffsets {
            switch token[byte: offset] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): continue
            case UInt8(ascii: "A")...UInt8(ascii: "F"): self = .mixedCase
            default:
                self = .malformed
                return
            }
        }
    }
}

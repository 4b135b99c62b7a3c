/// The form of a device token: 1 to 256 bytes in hexadecimal digits of either case. Apple guarantees no length.
package enum DeviceToken {
    package enum Form: Sendable {
        case lowerCase
        /// With capital letters, but the same token.
        case mixedCase
        case malformed

        package init(_ token: RawSpan) {
            guard DeviceToken.counts.contains(token.byteCount), token.byteCount.isMultiple(of: 2) else {
                self = .malformed
                return
            }
            self = .lowerCase
            for offset in token.byteOffsets {
                guard let digit = DeviceToken.digit(token[byte: offset]) else {
                    self = .malformed
                    return
                }
                if digit != token[byte: offset] { self = .mixedCase }
            }
        }
    }

    /// The possible numbers of digits; the actual number is even.
    package static let counts = 1...512

    /// The hexadecimal digit in lower case; nil for any other byte.
    @inline(__always)
    package static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): byte
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte | 0x20
        default: nil
        }
    }
}

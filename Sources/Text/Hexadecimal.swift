/// Hexadecimal digits, read in either case and written in lower case.
@usableFromInline
package enum Hexadecimal {
    /// The value of a digit; nil for any other byte. Inlined, because the simulator calls it for every digit of every device token.
    @inlinable
    package static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The bytes that the digits stand for; nil if one of them is not a digit or their count is odd.
    package static func bytes(of digits: Span<UInt8>) -> [UInt8]? {
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(of: digits[index]), let low = value(of: digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }
}

extension [UInt8] {
    /// Two digits for each byte.
    package var hexadecimal: String {
        var text: [UInt8] = []
        text.reserveCapacity(2 * count)
        for byte in self { text.append(hexadecimal: byte) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Inlined, because the simulator's binary gateway calls it for every byte of a device token.
    @inlinable
    package mutating func append(hexadecimal byte: UInt8) {
        for digit in [byte >> 4, byte & 0xF] {
            append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }
}

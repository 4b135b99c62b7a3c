/// The forms that Apple prescribes for single values, judged byte by byte.
enum HeaderForm {
    /// A canonical UUID: 8-4-4-4-12 hexadecimal digits, in lower case.
    static func isCanonicalUUID(_ value: Span<UInt8>) -> Bool {
        guard value.count == 36 else { return false }
        for index in 0..<36 {
            let byte = value[index]
            switch index {
            case 8, 13, 18, 23: if byte != UInt8(ascii: "-") { return false }
            default: if !isDigit(byte) && !(UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte) { return false }
            }
        }
        return true
    }

    /// Seconds since 1970 in digits; no sign, no fraction.
    static func isExpiration(_ value: Span<UInt8>) -> Bool {
        guard (1...18).contains(value.count) else { return false }
        for index in 0..<value.count where !isDigit(value[index]) { return false }
        return true
    }

    /// A device token: whole bytes in hexadecimal. Today's are 32 bytes, Live Activities have longer ones,
    /// and 100 bytes are announced.
    static func isDeviceToken(_ value: Span<UInt8>) -> Bool {
        guard (64...200).contains(value.count), value.count.isMultiple(of: 2) else { return false }
        for index in 0..<value.count where nibble(value[index]) == nil { return false }
        return true
    }

    /// A bundle identifier with or without a suffix: letters, digits, hyphens and full stops.
    static func isTopic(_ value: Span<UInt8>) -> Bool {
        guard (1...255).contains(value.count) else { return false }
        for index in 0..<value.count {
            switch value[index] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                continue
            default: return false
            }
        }
        return true
    }

    /// At most 64 bytes, and not nothing.
    static func isCollapseID(_ value: Span<UInt8>) -> Bool {
        (1...64).contains(value.count)
    }

    /// The value of a hexadecimal digit in either case.
    /// What hexadecimal digits stand for; nil where something else is among them, or one is left over.
    static func bytes(of digits: Span<UInt8>) -> [UInt8]? {
        guard digits.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for place in stride(from: 0, to: digits.count, by: 2) {
            guard let high = nibble(digits[place]), let low = nibble(digits[place + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    static func nibble(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
    }
}

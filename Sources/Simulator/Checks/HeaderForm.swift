/// The forms that Apple prescribes for single values, judged byte by byte.
enum HeaderForm {
    /// A canonical UUID: 8-4-4-4-12 hexadecimal digits, in lower case.
    static func isCanonicalUUID(_ value: Span<UInt8>) -> Bool {
        let hyphen = UInt8(ascii: "-")
        guard value.count == 36, value[8] == hyphen, value[13] == hyphen, value[18] == hyphen, value[23] == hyphen
        else { return false }
        return value.withUnsafeBytes { bytes in
            func word(_ place: Int, _ other: Int) -> UInt64 {
                UInt64(bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)) << 32
                    | UInt64(bytes.loadUnaligned(fromByteOffset: other, as: UInt32.self))
            }
            return EightBytes(word(0, 4)).areLowercaseHexadecimal && EightBytes(word(9, 14)).areLowercaseHexadecimal
                && EightBytes(word(19, 24)).areLowercaseHexadecimal && EightBytes(word(28, 32)).areLowercaseHexadecimal
        }
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
        return value.withUnsafeBytes { bytes in
            // The last eight may overlap with those before them.
            for place in stride(from: 0, to: bytes.count, by: 8) {
                let place = min(place, bytes.count - 8)
                let word = EightBytes(bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
                guard word.areHexadecimal else { return false }
            }
            return true
        }
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

    /// The value of a hexadecimal digit in either case.
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

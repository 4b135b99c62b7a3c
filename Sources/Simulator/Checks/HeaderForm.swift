import CarillonText

/// The forms that Apple requires of header values.
enum HeaderForm {
    /// A canonical UUID: 8-4-4-4-12 hexadecimal digits, in lower case.
    static func isCanonicalUUID(_ value: Span<UInt8>) -> Bool {
        let hyphen = UInt8(ascii: "-")
        guard value.count == 36, value[8] == hyphen, value[13] == hyphen, value[18] == hyphen, value[23] == hyphen
        else { return false }
        return value.withUnsafeBytes { bytes in
            func isHexadecimal(_ offset: Int, _ other: Int) -> Bool {
                let high = UInt64(bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
                let low = UInt64(bytes.loadUnaligned(fromByteOffset: other, as: UInt32.self))
                return EightBytes(high << 32 | low).areLowercaseHexadecimal
            }
            return isHexadecimal(0, 4) && isHexadecimal(9, 14) && isHexadecimal(19, 24) && isHexadecimal(28, 32)
        }
    }

    /// Seconds since 1970 in digits, without a sign or a fraction.
    static func isExpiration(_ value: Span<UInt8>) -> Bool {
        guard (1...18).contains(value.count) else { return false }
        for index in 0..<value.count where !(UInt8(ascii: "0")...UInt8(ascii: "9") ~= value[index]) { return false }
        return true
    }

    /// A device token: whole bytes in hexadecimal digits. Apps have tokens of 32 bytes and Live Activities longer ones; Apple has
    /// announced up to 100 bytes.
    static func isDeviceToken(_ value: Span<UInt8>) -> Bool {
        guard (64...200).contains(value.count), value.count.isMultiple(of: 2) else { return false }
        return value.withUnsafeBytes { bytes in
            // The last eight bytes may overlap with the previous ones.
            for offset in stride(from: 0, to: bytes.count, by: 8) {
                let offset = min(offset, bytes.count - 8)
                let word = EightBytes(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
                guard word.areHexadecimal else { return false }
            }
            return true
        }
    }

    /// A bundle ID with or without a suffix.
    static func isTopic(_ value: Span<UInt8>) -> Bool {
        guard (1...255).contains(value.count) else { return false }
        for index in 0..<value.count {
            switch value[index] {
            case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): continue
            case let byte: if !byte.isLetterOrDigit { return false }
            }
        }
        return true
    }
}

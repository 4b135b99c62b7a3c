import CarillonText

/// The identity of one push, sent as `apns-id`: a UUID.
///
/// A push that is sent again after an unknown outcome keeps its identity.
public struct PushID: Hashable, Sendable, CustomStringConvertible {
    /// The first eight bytes of the UUID.
    public let high: UInt64

    /// The last eight bytes of the UUID.
    public let low: UInt64

    /// The identity with these sixteen bytes.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// A random identity (UUID version 4).
    public static func random() -> Self {
        Self(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max)).marked(version: 4)
    }

    /// The identity of a message's push to a token, always the same for the same arguments (UUID version 8).
    ///
    /// - Parameters:
    ///   - installation: Sixteen bytes that distinguish one installation from others.
    ///   - message: The number of the original message, also in a retry.
    ///   - token: The device token, in hexadecimal digits as it is sent.
    public static func derived(installation: (UInt64, UInt64), message: Int64, token: RawSpan) -> Self {
        var hash = SipHash(key: installation)
        hash.combine(UInt64(bitPattern: message))
        hash.combine(token)
        let (high, low) = hash.finalize()
        return Self(high: high, low: low).marked(version: 8)
    }

    /// The identity written as a UUID, in groups of 8, 4, 4, 4 and 12 digits; nil if the text is not one.
    public init?(_ text: some StringProtocol) {
        let text = Array(text.utf8)
        guard text.count == 36 else { return nil }
        var words: (high: UInt64, low: UInt64) = (0, 0)
        for (index, character) in text.enumerated() {
            switch index {
            case 8, 13, 18, 23: if character != UInt8(ascii: "-") { return nil }
            default:
                guard let digit = Hexadecimal.value(of: character) else { return nil }
                words.high = words.high << 4 | words.low >> 60
                words.low = words.low << 4 | UInt64(digit)
            }
        }
        self.init(high: words.high, low: words.low)
    }

    /// The canonical form: lower case, in groups of 8, 4, 4, 4 and 12 digits.
    public var description: String {
        var text: [UInt8] = []
        write(into: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the 36 characters of the canonical form, eight or four at a time. This happens for every push, too often for
    /// `Hexadecimal`, which writes byte by byte.
    package func write(into text: inout [UInt8]) {
        let (first, second) = (Self.digits(high >> 32), Self.digits(high))
        let (third, fourth) = (Self.digits(low >> 32), Self.digits(low))
        text.append(addingCapacity: 36) { output in
            // Safe: each of the 36 bytes is written, and the span has room for them.
            unsafe output.withUnsafeMutableBufferPointer { buffer, count in
                let room = unsafe UnsafeMutableRawBufferPointer(buffer)[count...]
                let text = unsafe UnsafeMutableRawBufferPointer(rebasing: room)
                unsafe text.storeBytes(of: first.bigEndian, as: UInt64.self)
                unsafe Self.write(second, afterHyphensAt: 8, into: text)
                unsafe Self.write(third, afterHyphensAt: 18, into: text)
                unsafe text.storeBytes(of: fourth.bigEndian, toByteOffset: 28, as: UInt64.self)
                count += 36
            }
        }
    }

    /// Writes a hyphen and four digits, twice.
    private static func write(_ digits: UInt64, afterHyphensAt offset: Int, into text: UnsafeMutableRawBufferPointer) {
        unsafe text[offset] = UInt8(ascii: "-")
        let front = UInt32(truncatingIfNeeded: digits >> 32).bigEndian
        unsafe text.storeBytes(of: front, toByteOffset: offset + 1, as: UInt32.self)
        unsafe text[offset + 5] = UInt8(ascii: "-")
        let back = UInt32(truncatingIfNeeded: digits).bigEndian
        unsafe text.storeBytes(of: back, toByteOffset: offset + 6, as: UInt32.self)
    }

    /// The lower 32 bits as eight hexadecimal digits, the first of them in the highest byte.
    private static func digits(_ word: UInt64) -> UInt64 {
        // One digit in each byte.
        var digits = (word & 0xFFFF_0000) << 16 | word & 0xFFFF
        digits = (digits << 8 | digits) & 0x00FF_00FF_00FF_00FF
        digits = (digits << 4 | digits) & 0x0F0F_0F0F_0F0F_0F0F
        let isLetter = (digits &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        // "a" is 39 after the character that follows "9".
        return digits &+ 0x3030_3030_3030_3030 &+ isLetter &* 39
    }

    /// The same bits with the version and the variant of a UUID (RFC 9562).
    private func marked(version: UInt64) -> Self {
        Self(high: high & ~0xf000 | version << 12, low: low & (.max >> 2) | 1 << 63)
    }
}

import ApplePush
import CarillonText

/// A device token as people write it.
enum TokenText {
    private static let open = UInt8(ascii: "<")
    private static let close = UInt8(ascii: ">")

    /// Writes the token, in lower case, into `digits`; returns what is wrong if the text is not a token. Accepts
    /// hexadecimal digits, the form that Cocoa prints, `<740f4707 bebcf74f>`, and PostgreSQL's form of bytea,
    /// `\x740f4707`.
    static func read(_ text: ArraySlice<UInt8>, into digits: inout [UInt8]) -> String? {
        digits.removeAll(keepingCapacity: true)
        var text = text.trimmed
        let isPrintedData = text.count > 1 && text.first == open && text.last == close
        if isPrintedData {
            text = text.dropFirst().dropLast()
        } else if text.starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "x")]) {
            text = text.dropFirst(2)
        }
        for byte in text {
            if isPrintedData, byte == UInt8(ascii: " ") { continue }
            guard let digit = DeviceToken.digit(byte) else { return "the token has characters that are not hex digits" }
            digits.append(digit)
        }
        if digits.isEmpty { return "there is no token" }
        let maxDigits = DeviceToken.counts.upperBound
        if digits.count > maxDigits { return "the token has more than \(maxDigits) digits" }
        return digits.count.isMultiple(of: 2) ? nil : "the token has an odd number of digits"
    }
}

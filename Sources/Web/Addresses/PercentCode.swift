import CarillonText

/// Strict percent-encoding (RFC 3986): invalid text is refused, not repaired.
enum PercentCode {
    /// Nil if an escape is incomplete, or if the text is not UTF-8, contains a null character or is costly to compare.
    static func decode(_ text: some Collection<UInt8>) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(Hexadecimal.value),
                let low = rest.popFirst().flatMap(Hexadecimal.value)
            else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self), text.isCheapToCompare else {
            return nil
        }
        return text
    }
}

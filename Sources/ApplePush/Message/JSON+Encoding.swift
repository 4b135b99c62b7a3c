public import FoundationEssentials

extension APNs.JSON {
    /// The JSON that one of your own values encodes to.
    ///
    /// Whole numbers of 64 bits and decimals keep all digits. Without an encoder, a date is in seconds since 1970, as in
    /// Apple's own members, and data is in base 64.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - encoder: An encoder with other rules for dates, data or names, such as `JSONEncoder()`.
    public init(encoding value: some Encodable, with encoder: JSONEncoder? = nil) throws(PushError) {
        do {
            self = try JSONDecoder().decode(Self.self, from: (encoder ?? Self.encoder).encode(value))
        } catch {
            throw PushError(
                .invalidMessage,
                "A value of type \(type(of: value)) cannot be written as JSON: \(Self.fault(error))",
                underlying: error
            )
        }
    }

    private static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .secondsSince1970
        return encoder
    }

    private static func fault(_ error: any Error) -> String {
        guard case EncodingError.invalidValue(let value, let context) = error else { return "\(error)" }
        let path = context.codingPath.map(\.stringValue).joined(separator: ".")
        return "it cannot contain \(value)" + (path.isEmpty ? "." : " as “\(path)”.")
    }
}

extension APNs.JSON: CustomStringConvertible {
    /// The value as compact JSON.
    public var description: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Only a number that JSON cannot represent throws.
        guard let bytes = try? encoder.encode(self) else { return "a value that JSON cannot represent" }
        return String(decoding: bytes, as: UTF8.self)
    }
}

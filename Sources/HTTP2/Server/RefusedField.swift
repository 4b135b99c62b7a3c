/// Describes a header field for which nghttp2 resets a stream, in words that may be logged: values may be secrets, and so may
/// malformed names.
struct RefusedField {
    let description: String

    private static let nameLimit = 40

    /// - Parameter words: nghttp2's message, which ends with `name: […], value: […]`.
    init(_ words: [UInt8]) {
        guard let start = words.firstRange(of: Array("name: [".utf8))?.upperBound,
            let middle = words[start...].firstRange(of: Array("], value: [".utf8))
        else {
            description = "a header field is malformed, or HTTP/2 forbids it"
            return
        }
        let name = words[start..<middle.lowerBound]
        var value = words[middle.upperBound...]
        if value.last == UInt8(ascii: "]") { value.removeLast() }
        let said =
            Self.isPublic(name)
            ? "\"\(String(decoding: value, as: UTF8.self))\" is not allowed there"
            : Self.fault(name, value)
        description = "the header field \(Self.shown(name)): \(said)"
    }

    /// Whether the value is not a secret and helps to find the fault.
    private static func isPublic(_ name: ArraySlice<UInt8>) -> Bool {
        guard FieldRules.isName(name.drop { $0 == UInt8(ascii: ":") }) else { return false }
        return [":", "apns-", "content-length"].contains { name.starts(with: $0.utf8) }
    }

    /// The part of the name that looks like a name.
    private static func shown(_ name: ArraySlice<UInt8>) -> String {
        let body = name.dropFirst().prefix { FieldRules.isName([$0 | 0x20]) }
        return String(decoding: (name.prefix(1) + body).prefix(nameLimit), as: UTF8.self)
    }

    private static func fault(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) -> String {
        if name.contains(where: { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }) {
            return "its name has capital letters"
        }
        if !FieldRules.isName(name) { return "its name has characters that no name may have" }
        if !FieldRules.isValue(value) { return "its value has a control character, or white space at an end" }
        return "it is malformed, or HTTP/2 forbids it"
    }
}

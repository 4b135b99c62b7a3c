import Glibc

/// The target of a request, which is the middle of its first line: what is known of it before its query is separated.
struct RequestTarget {
    private static let maxBytes = 8 * 1024
    private static let (questionMark, ampersand, comma) = (CChar(0x3f), CChar(0x26), CChar(0x2c))

    /// Up to its first null character, in bytes. Nil if one of them is not allowed there: all are visible ASCII (RFC 9112, 3.2).
    let length: Int?
    /// Nil unless it is too long.
    let refusal: HTTPRefusal?

    /// If there are too many parameters, joins them: libmicrohttpd 0.9.75 keeps a record of each in the memory of the connection,
    /// and without room for it waits until the connection times out, and answers nothing.
    ///
    /// - Parameter text: in the buffer of libmicrohttpd, which changes this text itself when it separates the query.
    init(in text: UnsafePointer<CChar>) {
        let bytes = UnsafeBufferPointer(start: text, count: strlen(text))
        length = bytes.allSatisfy { (0x21...0x7e).contains($0) } ? bytes.count : nil
        let query = bytes[(bytes.firstIndex(of: Self.questionMark) ?? bytes.endIndex)...]
        let isCrowded = query.count { $0 == Self.ampersand } >= FormFields.maxFields
        if isCrowded {
            let buffer = UnsafeMutablePointer(mutating: text)
            for place in query.indices where buffer[place] == Self.ampersand { buffer[place] = Self.comma }
        }
        refusal = isCrowded ? .manyParameters : bytes.count > Self.maxBytes ? .longTarget(limit: Self.maxBytes) : nil
    }
}

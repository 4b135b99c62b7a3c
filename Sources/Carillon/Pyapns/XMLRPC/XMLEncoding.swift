/// The encodings of documents: UTF-8 and its subset ASCII, and Latin 1, which PHP declares.
enum XMLEncoding {
    /// The document in UTF-8, without a byte order mark and without characters that XML forbids.
    static func utf8(_ document: [UInt8]) throws(XMLError) -> [UInt8] {
        var bytes = document.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(document.dropFirst(3)) : document
        switch try declared(by: bytes) {
        case nil, "utf-8", "utf8", "us-ascii", "ascii":
            guard String(validating: bytes, as: UTF8.self) != nil else {
                throw XMLError(reason: "bytes that are not UTF-8", place: 0)
            }
        case "iso-8859-1", "latin1", "latin-1":
            bytes = bytes.flatMap { $0 < 0x80 ? [$0] : [0xC0 | $0 >> 6, 0x80 | $0 & 0x3F] }
        case let name?:
            throw XMLError(reason: "the encoding \(name): send UTF-8", place: 0)
        }
        let control = bytes.firstIndex { $0 < 32 && $0 != 9 && $0 != 10 && $0 != 13 }
        if let control { throw XMLError(reason: "a control character", place: control) }
        return bytes
    }

    private static func declared(by bytes: [UInt8]) throws(XMLError) -> String? {
        guard bytes.starts(with: Array("<?xml".utf8)) else { return nil }
        // A declaration is ASCII, and short.
        let head = String(decoding: bytes.prefix(200).prefix { $0 != UInt8(ascii: ">") }, as: UTF8.self)
        guard let match = head.firstMatch(of: /\sencoding\s*=\s*["']([A-Za-z0-9._-]*)["']/) else { return nil }
        return match.output.1.lowercased()
    }
}

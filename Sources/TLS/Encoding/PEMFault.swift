/// What is probably wrong with a text that should be a private key in PEM form, for the end of a sentence.
enum PEMFault: String, CustomStringConvertible {
    case isPath = "it looks like the path of a file; give what the file contains"
    case isCut = "the line -----END PRIVATE KEY----- is missing; it may have been cut"
    case isSomethingElse = "it must contain a line -----BEGIN PRIVATE KEY-----"
    case hasEscapedBreaks = #"it contains \n in place of line breaks; write them as line breaks"#
    case hasNoBreaks = "the lines of its beginning and its end must stand alone, without blanks before them"
    case isAltered = "it may have been cut or altered"

    /// What a text without a key may be.
    init(withoutBlock text: [UInt8]) {
        let words = String(decoding: text.prefix(4096), as: UTF8.self)
        if words.contains("-----BEGIN"), words.contains("PRIVATE KEY") {
            self = words.contains("-----END") ? .isAltered : .isCut
        } else if !words.contains("\n"), [".p8", ".pem", ".key", ".p12"].contains(where: words.hasSuffix) {
            self = .isPath
        } else {
            self = .isSomethingElse
        }
    }

    /// Why OpenSSL cannot read a key between its first and last line.
    init(in block: ArraySlice<UInt8>) {
        let words = String(decoding: block.prefix(4096), as: UTF8.self)
        let lines = words.split(whereSeparator: \.isNewline)
        if words.contains(#"\n"#) {
            self = .hasEscapedBreaks
        } else if lines.count < 3 || lines.contains(where: { $0.first == " " || $0.first == "\t" }) {
            self = .hasNoBreaks
        } else {
            self = .isAltered
        }
    }

    var description: String { rawValue }
}

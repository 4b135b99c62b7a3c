import CarillonPushRules
import CarillonText
import CarillonWeb

/// The type of an option's value, and how it is parsed.
enum ValueKind: Sendable {
    /// No value: the flag is present or not.
    case flag
    /// Any text; the associated word is its placeholder in `--help`.
    case text(String)
    /// A URL, or the keywords of libpq.
    case database
    case count(ClosedRange<Int>)
    case duration(ClosedRange<Duration>)
    /// `host:port`, or a port alone on this machine.
    case address
    /// The URL of an HTTP proxy, which may contain a password. libcurl would not find an error before the first request.
    case proxy
    /// The path of a file or folder; the associated word is its placeholder in `--help`.
    case file(String)
    case choice([String])
    /// A kind of tokens, which need not be a known one.
    case tokenKind

    /// The placeholder of the value in `--help`; nil for a flag.
    var placeholder: String? {
        switch self {
        case .flag: nil
        case .text(let word), .file(let word): word
        case .database, .proxy: "URL"
        case .count: "N"
        case .duration: "D"
        case .address: "ADDR"
        // The help of an option with more words lists them, since a placeholder is not broken into lines.
        case .choice(let words): words.count > 6 ? "WORD" : words.joined(separator: "|")
        case .tokenKind: "KIND"
        }
    }

    /// Ends the sentence "--x takes ...".
    var expectation: String {
        switch self {
        case .flag: "true or false"
        case .text(let word): "a value (\(word))"
        case .database: "a value (URL)"
        case .count(let range):
            range.upperBound == .max
                ? "a whole number from \(range.lowerBound)"
                : "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .duration(let range):
            "a duration from \(DurationText.write(range.lowerBound)) to \(DurationText.write(range.upperBound)), "
                + "written like 250ms, 10s or 5m"
        case .address: "an address such as 127.0.0.1:9464"
        case .proxy: "the URL of a proxy with its port, such as http://proxy.example:3128"
        case .file: "the path of a file"
        case .choice(let words): words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
        case .tokenKind: TokenKind.form
        }
    }

    /// The parsed value; nil if the text is not valid.
    func read(_ text: String) -> OptionValue? {
        switch self {
        case .flag:
            switch text.lowercased() {
            case "true", "yes", "on", "1": .flag(true)
            case "false", "no", "off", "0", "": .flag(false)
            default: nil
            }
        case .text: .text(text)
        case .database: .database(DatabaseSetting(text))
        case .file: text.isEmpty ? nil : .text(text)
        case .count(let range):
            Int(text).flatMap { range.contains($0) ? .count($0) : nil }
        case .duration(let range):
            DurationText.read(text).flatMap { range.contains($0) ? .duration($0) : nil }
        case .address:
            Address(text).map { .address($0) }
        case .proxy: Self.isProxy(text) ? .text(text) : nil
        case .choice(let words):
            words.contains(text) ? .text(text) : nil
        case .tokenKind:
            TokenKind(rawValue: text).map { .text($0.rawValue) }
        }
    }

    private static func isProxy(_ text: String) -> Bool {
        let parts = /https?:\/\/(?:[!"$-.0->A-~]*@)?(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})\/?/
        guard let port = text.wholeMatch(of: parts)?.output.1 else { return false }
        return UInt16(port).map { $0 > 0 } ?? false
    }
}

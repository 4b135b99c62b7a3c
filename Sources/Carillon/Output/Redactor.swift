/// Masks the passwords of connection strings in whatever is about to be printed.
///
/// What we say ourselves names no secret, but a sentence may repeat a word that was put in the wrong place, such as a
/// database URL. A password is known by where it stands: between the colon and the `@` of a URL, or after `password=`. Its
/// letters say nothing: a role of another name may be spelt the same, and masking that would tell what the password is.
struct Redactor: Sendable {
    private static let mask = "***"
    /// What our own examples have in its place.
    private static let placeholder = "PASSWORD"

    /// Settings that hold a password, and how they may be shown: of these it is known where they end, also when the
    /// password has white space in it.
    private let known: [(text: String, shown: String)]

    init(_ settings: [String] = []) {
        known = settings.compactMap { setting in
            let shown = Self.maskKeywords(in: Self.maskURLs(in: setting) { _ in false })
            return shown == setting ? nil : (setting, shown)
        }
    }

    /// Whether one of the settings holds a password.
    var hidesAny: Bool { !known.isEmpty }

    func clean(_ text: String) -> String {
        guard text.contains("//") || text.contains("=") else { return text }
        var text = text
        for setting in known where text.contains(setting.text) {
            text = text.replacing(setting.text, with: setting.shown)
        }
        return Self.maskKeywords(in: Self.maskURLs(in: text, endingAt: \.isWhitespace))
    }

    /// `NAME://USER:PASSWORD@`, also where the colon is missing. A password that is not encoded may hold a slash, a question
    /// mark or an `@` itself: all up to the last `@` is masked.
    private static func maskURLs(in text: String, endingAt isEnd: (Character) -> Bool) -> String {
        var shown = ""
        var rest = text[...]
        while let slashes = rest.firstRange(of: "//") {
            shown += rest[..<slashes.upperBound]
            rest = rest[slashes.upperBound...]
            let url = rest.prefix { !isEnd($0) }
            guard let end = url.lastIndex(of: "@"), let colon = url[..<end].firstIndex(of: ":") else { continue }
            let password = url[url.index(after: colon)..<end]
            shown += url[...colon] + (password == placeholder ? placeholder : mask)
            rest = rest[end...]
        }
        return shown + rest
    }

    /// `password=VALUE`, as a keyword or in the query of a URL; the value may stand in quotes.
    private static func maskKeywords(in text: String) -> String {
        text.replacing(#/(?i)(password\s*=\s*)('(?:\\.|[^'\\])*'?|(?:\\.|\S)+)/#) { $0.output.1 + mask }
    }
}

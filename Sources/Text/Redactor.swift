/// Masks the passwords of connection strings in output.
///
/// No message of the program contains a secret by design, but it may quote an argument given in the wrong place, such as a database
/// URL. A password is recognized by its position: between the colon and the `@` of a URL, or after `password=`. It is not
/// recognized by its text: a role may have the same name as its password, and masking the name would disclose the password.
package struct Redactor: Sendable {
    private static let mask = "***"
    /// The placeholder in our own examples, which is not masked.
    private static let placeholder = "PASSWORD"

    /// Settings that contain a password, and how they may be shown. Where such a setting ends is known, so its password is masked
    /// even if it contains spaces.
    private let known: [(text: String, shown: String)]

    package init(_ settings: [String] = []) {
        known = settings.compactMap { setting in
            let shown = Self.maskKeywords(in: Self.maskURLs(in: setting) { _ in false })
            return shown == setting ? nil : (setting, shown)
        }
    }

    /// Whether one of the settings has a password.
    package var hidesAny: Bool { !known.isEmpty }

    package func clean(_ text: String) -> String {
        guard text.contains("//") || text.contains("=") else { return text }
        var text = text
        for setting in known where text.contains(setting.text) {
            text = text.replacing(setting.text, with: setting.shown)
        }
        return Self.maskKeywords(in: Self.maskURLs(in: text, endingAt: \.isWhitespace))
    }

    /// `NAME://USER:PASSWORD@`, even without the colon. A password that is not encoded may contain a slash, a question
    /// mark or an `@`, so everything up to the last `@` is masked.
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

    /// `password=VALUE`, as a keyword or in the query of a URL; the value may be quoted.
    private static func maskKeywords(in text: String) -> String {
        text.replacing(#/(?i)(password\s*=\s*)('(?:\\.|[^'\\])*'?|(?:\\.|\S)+)/#) { $0.output.1 + mask }
    }
}

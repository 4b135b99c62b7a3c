import CarillonSchema
import CarillonText
import CarillonWeb

/// Shows device tokens: only both ends, unless the viewer may see whole tokens.
struct TokenDisplay: Sendable {
    let isWhole: Bool

    func text(_ token: String) -> String { isWhole ? token : Self.short(token) }

    /// Whether a text is meant as a device token: a long text of hex digits.
    static func isToken(_ text: String) -> Bool {
        text.count >= 16 && text.count.isMultiple(of: 2) && text.count <= 512
            && text.allSatisfy { $0.isASCII && $0.isHexDigit }
    }

    /// For sentences and tables, which a whole token would fill.
    static func short(_ token: String) -> String {
        // The id of a channel is not personal data.
        guard token.count > 16, Self.isToken(token) else { return token }
        return token.prefix(8) + "…" + token.suffix(4)
    }

    /// A search needs the whole token: it is in the link if the viewer may see it.
    func html(_ token: String) -> HTML {
        let shown = HTML(.code) { Self.short(token) }
        guard isWhole, Self.isToken(token) else { return shown }
        return HTML(.a, .href(Link("trace", query: ["q": token])), Attribute(.title, token)) { shown }
    }
}

extension FailureRecord {
    func json(_ tokens: TokenDisplay) -> JSONValue { json.with("token", tokens.text(token)) }
}

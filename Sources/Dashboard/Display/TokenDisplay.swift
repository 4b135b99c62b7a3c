import CarillonWeb

/// How device tokens are shown: with both ends only, unless the operator has allowed the whole.
struct TokenDisplay: Sendable {
    let isWhole: Bool

    func text(_ token: String) -> String { isWhole ? token : Self.short(token) }

    /// Whether a person who writes this means a device token: a long text of hex digits.
    static func isToken(_ text: String) -> Bool {
        text.count >= 16 && text.count.isMultiple(of: 2) && text.count <= 512
            && text.allSatisfy { $0.isASCII && $0.isHexDigit }
    }

    /// For sentences and tables, which whole tokens would fill.
    static func short(_ token: String) -> String {
        // The id of a channel addresses nobody.
        guard token.count > 16, Self.isToken(token) else { return token }
        return token.prefix(8) + "…" + token.suffix(4)
    }

    /// Only a whole token can be searched: with the right to see it, it is in the link.
    func html(_ token: String) -> HTML {
        let shown = HTML(.code) { Self.short(token) }
        guard isWhole, Self.isToken(token) else { return shown }
        return HTML(.a, .href(Link("find", query: ["q": token])), Attribute(.title, token)) { shown }
    }
}

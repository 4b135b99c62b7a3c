import CarillonWeb

/// How device tokens are shown: with both ends only, unless the operator has allowed the whole.
struct TokenDisplay: Sendable {
    let isWhole: Bool

    func text(_ token: String) -> String {
        // The id of a channel addresses nobody.
        guard !isWhole, token.count > 16, TokenText.isLikely(token) else { return token }
        return token.prefix(8) + "…" + token.suffix(4)
    }

    /// Only a whole token can be searched.
    func html(_ token: String) -> HTML {
        let shown = HTML(.code) { text(token) }
        return isWhole && TokenText.isLikely(token)
            ? HTML(.a, .href(Link("find", query: ["q": token]))) { shown } : shown
    }
}

import CarillonSchema
import CarillonText
import CarillonWeb

/// What the text of a search is in an app.
struct TraceMatch: Sendable {
    /// Nil if it was removed. Only its messages are left then.
    let app: String?
    let subject: TraceSubject
    /// Nil if it was not traced.
    var records: [TraceRecord]?

    /// What the trace has, of which `records` may be the newest.
    var events: Int { records?.first?.events ?? 0 }
    var isCut: Bool { (records ?? []).count { !$0.isLimit } < events }

    /// Nil if the viewer may not see the whole token, which would be part of it.
    func link(_ tokens: TokenDisplay) -> Link? {
        if app == nil, case .message(let id) = subject { return .message(id, of: nil) }
        if subject.kind == .token, !tokens.isWhole { return nil }
        return Link("trace", query: ["q": subject.text, "by": subject.kind.rawValue, "app": app])
    }

    /// As in "Reference order 7 in acme".
    @HTMLBuilder func name(_ tokens: TokenDisplay) -> HTML {
        switch subject {
        case .owner(let owner): "Owner \(owner)"
        case .token(let token):
            "Device token "
            HTML(.code) { tokens.text(token) }
        case .reference(let reference): "Reference \(reference)"
        case .message(let id): "Message \(id)"
        }
        " in \(app ?? "an app that is gone")"
    }

    func json(_ tokens: TokenDisplay) -> JSONValue {
        let text = subject.kind == .token ? tokens.text(subject.text) : subject.text
        return [
            "app": app, "by": subject.kind.rawValue, "q": text, "see": link(tokens)?.text,
            "rows": records?.map { record in
                record.token.map { record.json.with("token", tokens.text($0)) } ?? record.json
            },
            "rows_precision": Amount.Precision(isCut: isCut),
        ]
    }
}

/// The JSON bodies of answers: `{"reason":"…"}`, with a `timestamp` where Apple sends one.
enum AnswerBody {
    static func of(_ refusal: Refusal) -> [UInt8] {
        guard let reason = refusal.reason else { return [] }
        var body: [UInt8] = []
        body.append("{\"reason\":\"")
        body.append(reason)
        body.append("\"}")
        return body
    }

    /// The body of a rule's answer to a request taken at `now`, in milliseconds since 1970; empty without a reason.
    static func of(reason: String?, timestamp: AnswerRule.Timestamp, now: Int64) -> [UInt8] {
        guard let reason else { return [] }
        var body: [UInt8] = []
        body.append("{\"reason\":")
        let text = Array(reason.utf8)
        body.appendQuoted(text.span)
        switch timestamp {
        case .none: break
        case .now:
            body.append(",\"timestamp\":")
            body.append(decimal: now)
        case .milliseconds(let milliseconds):
            body.append(",\"timestamp\":")
            body.append(decimal: milliseconds)
        }
        body.append("}")
        return body
    }
}

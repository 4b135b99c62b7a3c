/// What goes back on a stream: made once for each refusal and each rule, so that an answer is only looked up. It is an object,
/// so that to pass it on is one count and not one for each of its texts.
final class Answer: Sendable {
    /// Nil where there is none: the stream is left open, or reset.
    let status: UInt16?
    let reason: String?
    /// What the reason leaves open, for the log.
    let detail: String?
    let retryAfter: [UInt8]
    /// Since when the token is dead, in milliseconds since 1970, where a rule says so.
    private let milliseconds: Int64?
    /// The body, unless it tells the time of the request.
    private let body: [UInt8]
    private let tellsTime: Bool
    let resetsStream: Bool

    private init(
        status: UInt16?,
        reason: String? = nil,
        detail: String? = nil,
        retryAfter: UInt32? = nil,
        milliseconds: Int64? = nil,
        body: [UInt8] = [],
        tellsTime: Bool = false,
        resetsStream: Bool = false
    ) {
        self.status = status
        self.reason = reason
        self.detail = detail
        self.milliseconds = milliseconds
        self.retryAfter = retryAfter.map { Array(String($0).utf8) } ?? []
        self.body = body
        self.tellsTime = tellsTime
        self.resetsStream = resetsStream
    }

    static let accepted = Answer(status: 200)
    static let connectionReset = Answer(status: nil, detail: "The connection was reset instead, as was asked for.")
    static let clientGone = Answer(status: nil, detail: "The client reset the stream before it was answered.")

    convenience init(_ refusal: Refusal) {
        self.init(
            status: refusal.status,
            reason: refusal.reason?.description,
            detail: refusal.detail,
            body: AnswerBody.of(refusal)
        )
    }

    convenience init(_ rule: AnswerRule) {
        let subject = "The rule of --answer for \(rule.prefix.isEmpty ? "*" : rule.prefix)"
        switch rule.action {
        case .silence: self.init(status: nil, detail: "\(subject) leaves it without an answer.")
        case .reset:
            self.init(status: nil, detail: "\(subject) resets the stream (INTERNAL_ERROR).", resetsStream: true)
        case .answer(let status, let reason, let timestamp):
            self.init(
                status: status,
                reason: status == 200 ? nil : reason,
                detail: "\(subject) gives this answer.",
                retryAfter: rule.retryAfter,
                milliseconds: timestamp.milliseconds,
                body: status == 200 ? [] : AnswerBody.of(reason: reason, timestamp: timestamp, now: 0),
                tellsTime: timestamp == .now
            )
        }
    }

    /// Since when a token is dead that gets this answer at `now`, in seconds since 1970; nil: it is not.
    func death(now: Int64) -> UInt32? {
        status == 410 ? UInt32(truncatingIfNeeded: (milliseconds ?? now) / 1000) : nil
    }

    /// The body of an answer to a request taken at `now`, in milliseconds since 1970.
    func body(now: Int64) -> [UInt8] {
        tellsTime ? AnswerBody.of(reason: reason, timestamp: .now, now: now) : body
    }
}

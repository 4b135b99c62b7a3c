import CarillonText

/// The answer on a stream. There is one for each refusal and each rule, so that an answer only has to be looked up. It is an
/// object, so that passing it on costs one reference count, not one for each of its texts.
final class GatewayAnswer: Sendable {
    /// Nil if the stream is left open or reset.
    let status: UInt16?
    let reason: String?
    /// The cause, in more detail than the reason, for the log.
    let detail: String?
    let retryAfter: [UInt8]
    private let timestamp: AnswerRule.Timestamp
    /// The body, unless it contains the time of the request.
    private let body: [UInt8]
    let resetsStream: Bool

    private init(
        status: UInt16?,
        reason: String? = nil,
        detail: String? = nil,
        retryAfter: UInt32? = nil,
        timestamp: AnswerRule.Timestamp = .none,
        body: [UInt8]? = nil,
        resetsStream: Bool = false
    ) {
        self.status = status
        self.reason = reason
        self.detail = detail
        self.timestamp = timestamp
        self.retryAfter = retryAfter.map { Array(String($0).utf8) } ?? []
        self.body = body ?? Self.body(reason, timestamp, now: 0)
        self.resetsStream = resetsStream
    }

    static let accepted = GatewayAnswer(status: 200)
    static let connectionReset = GatewayAnswer(
        status: nil,
        detail: "The connection was reset, as --reset-after asks for."
    )
    static let clientGone = GatewayAnswer(status: nil, detail: "The client reset the stream before it was answered.")

    convenience init(_ refusal: APNsRefusal) {
        self.init(status: refusal.status, reason: refusal.reason?.description, detail: refusal.detail)
    }

    convenience init(_ answer: ChannelAnswer) { self.init(status: answer.status, body: answer.body) }

    convenience init(_ rule: AnswerRule) {
        let subject = "The rule of --answer for \(rule.name)"
        switch rule.action {
        case .silence: self.init(status: nil, detail: "\(subject) leaves the request unanswered.")
        case .reset:
            self.init(status: nil, detail: "\(subject) resets the stream (INTERNAL_ERROR).", resetsStream: true)
        case .answer(let status, let reason, let timestamp):
            self.init(
                status: status,
                reason: status == 200 ? nil : reason,
                detail: "\(subject) gives this answer.",
                retryAfter: rule.retryAfter,
                timestamp: timestamp
            )
        }
    }

    /// When the device token of a request at `now` died, in seconds since 1970; nil unless the answer is a 410.
    func death(now: Int64) -> UInt32? {
        guard status == 410 else { return nil }
        if case .milliseconds(let milliseconds) = timestamp { return UInt32(truncatingIfNeeded: milliseconds / 1000) }
        return UInt32(truncatingIfNeeded: now / 1000)
    }

    /// The body of an answer to a request at `now`, in milliseconds since 1970.
    func body(now: Int64) -> [UInt8] {
        if case .now = timestamp { Self.body(reason, timestamp, now: now) } else { body }
    }

    /// `{"reason":"\…"}`, with a `timestamp` if Apple sends one; empty without a reason.
    private static func body(_ reason: String?, _ timestamp: AnswerRule.Timestamp, now: Int64) -> [UInt8] {
        guard let reason else { return [] }
        var body: [UInt8] = []
        body.append("{\"reason\":")
        body.appendQuoted(reason)
        switch timestamp {
        case .none: break
        case .now: body.appendMember("timestamp", now)
        case .milliseconds(let milliseconds): body.appendMember("timestamp", milliseconds)
        }
        body.append("}")
        return body
    }
}

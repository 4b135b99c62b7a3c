import CarillonIO

/// Returns given answers and records what is sent, for tests of programs that send pushes.
///
/// ```swift
/// let backend = RecordedBackend { token in token == gone ? .rejected(410, "Unregistered") : .accepted }
/// let session = Session(backend: backend)
/// ```
public struct RecordedBackend: Backend {
    /// What APNs would do with a push.
    public enum Answer: Sendable {
        /// APNs accepts the push.
        case accepted
        /// APNs rejects the push, with a status, a reason and, for 410, a timestamp in milliseconds since 1970.
        case rejected(Int, String, timestamp: Int64? = nil, retryAfter: Int? = nil)
        /// The connection ends before the push is processed.
        case safe
        /// The connection ends without an answer.
        case unknown
        /// No connection can be made.
        case unreachable(PushError)
    }

    /// A push that was sent.
    public struct Sent: Sendable {
        /// Where it was sent.
        public let gateway: Gateway
        /// The device token.
        public let token: String
        /// The identity that it carried.
        public let id: PushID
        /// The payload.
        public let payload: String
        /// The topic, if there was one.
        public let topic: String?
        /// The kind of push.
        public let pushType: PushType
        /// The priority, if there was one.
        public let priority: UInt8?
        /// The expiration, if there was one.
        public let expiration: Int64?
        /// The collapse identifier, if there was one.
        public let collapseID: String?
    }

    /// The part that separate backends share.
    private final class Tape: Sendable {
        let sent = Guarded<[Sent]>([])
        let deadTokens: Guarded<[Feedback]>

        init(_ deadTokens: [Feedback]) { self.deadTokens = Guarded(deadTokens) }
    }

    /// The part that copies of this value share.
    private final class Life: Sendable {
        let isShutDown = Guarded(false)
    }

    private let tape: Tape
    private let life = Life()
    private let answer: @Sendable (String) -> Answer

    /// A backend that answers each push according to its token.
    public init(
        feedback: [Feedback] = [],
        answer: @escaping @Sendable (_ token: String) -> Answer = { _ in .accepted }
    ) {
        self.init(Tape(feedback), answer)
    }

    private init(_ tape: Tape, _ answer: @escaping @Sendable (String) -> Answer) {
        self.tape = tape
        self.answer = answer
    }

    /// The pushes that were sent so far.
    public var sent: [Sent] { tape.sent.withLock { $0 } }

    /// Returns the answers at once. Nothing is sent without a permit in force, in a cancelled task, or after a shutdown. Malformed
    /// tokens are rejected, as by other backends.
    public func deliver(
        _ batch: consuming PushBatch,
        to gateway: Gateway,
        with credential: Credential,
        terms: DeliveryTerms
    ) async -> Delivered {
        var outcomes = Outcomes(repeating: Outcome(.safe), count: batch.count)
        for position in 0..<batch.count {
            if batch.isMalformed(position) {
                outcomes[position] = Outcome(.rejected, reason: .malformedToken)
            } else if let reason = reasonToWithhold(terms.permit) {
                outcomes.withheld = reason
            } else {
                send(position, of: batch, to: gateway, noting: &outcomes)
            }
        }
        return Delivered(outcomes)
    }

    private func reasonToWithhold(_ permit: SendingPermit?) -> PushError? {
        if life.isShutDown.withLock({ $0 }) { return .shutDown }
        if permit?.isInForce ?? true, !Task.isCancelled { return nil }
        return PushError(.cancelled, "The task was cancelled, or its permit ended, before the push was sent.")
    }

    private func send(_ position: Int, of batch: PushBatch, to gateway: Gateway, noting outcomes: inout Outcomes) {
        switch answer(batch.token(of: position)) {
        case .accepted: outcomes[position] = .accepted
        case .rejected(let status, let reason, let timestamp, let retryAfter):
            outcomes[position] = Outcome(
                .rejected,
                status: UInt16(clamping: status),
                reason: outcomes.reason(named: reason),
                timestamp: timestamp,
                retryAfter: retryAfter.map { Int32(clamping: $0) }
            )
        case .safe:
            outcomes.withheld = PushError(.unreachable, "The connection ended before the push was processed.")
        case .unknown:
            outcomes[position] = Outcome(.unknown)
            outcomes.unanswered = PushError(.unreachable, "The connection ended without an answer.")
        case .unreachable(let error):
            outcomes.connectFailure = error
            return
        }
        let sent = Sent(
            gateway: gateway,
            token: batch.token(of: position),
            id: batch.id(of: position),
            payload: String(decoding: batch.payload(of: position), as: UTF8.self),
            topic: batch.topic(of: position),
            pushType: batch.pushType(of: position),
            priority: batch.priority(of: position),
            expiration: batch.expiration(of: position),
            collapseID: batch.collapseID(of: position)
        )
        tape.sent.withLock { $0.append(sent) }
    }

    /// Returns the given list, and clears it, as a gateway does.
    public func feedback(from gateway: Gateway, with credential: Credential) async throws(PushError)
        -> LegacyFeedbackList
    {
        if life.isShutDown.withLock({ $0 }) { throw .shutDown }
        return LegacyFeedbackList(
            tape.deadTokens.withLock { list in
                defer { list = [] }
                return list
            }
        )
    }

    /// A backend with the same recording and the same answers, which outlives this one's shutdown.
    public func separate() -> Self { Self(tape, answer) }

    /// Does nothing: there are no connections.
    public func outdate(idle: Duration) async {}

    /// Sends nothing afterwards. What was sent can still be read.
    public func shutdown() async { life.isShutDown.withLock { $0 = true } }
}

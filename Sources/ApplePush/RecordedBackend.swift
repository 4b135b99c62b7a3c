import CarillonIO

/// Returns given answers and records what was sent, for tests of programs that send pushes.
///
/// ```swift
/// let backend = RecordedBackend { token in token == gone ? .rejected(410, "Unregistered") : .delivered }
/// let session = Session(backend: backend)
/// ```
public struct RecordedBackend: Backend {
    /// What APNs would do with a push.
    public enum Answer: Sendable {
        /// Accepts it.
        case delivered
        /// Rejects it: status, reason, and with 410 the milliseconds since 1970.
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
        /// The identity it carried.
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

    private final class Tape: Sendable {
        let sent = Guarded<[Sent]>([])
    }

    private let tape = Tape()
    private let deadTokens: [Feedback]
    private let answer: @Sendable (String) -> Answer

    /// A backend that answers each push by its token.
    public init(
        feedback: [Feedback] = [],
        answer: @escaping @Sendable (_ token: String) -> Answer = { _ in .delivered }
    ) {
        deadTokens = feedback
        self.answer = answer
    }

    /// The pushes that were sent so far.
    public var sent: [Sent] { tape.sent.withLock { $0 } }

    /// Returns the answers at once. Without a permit in force, nothing is sent. Malformed tokens are refused, as by the other
    /// backends.
    public func deliver(
        _ batch: consuming PushBatch,
        to gateway: Gateway,
        with credential: Credential,
        terms: DeliveryTerms
    ) async -> Delivered {
        guard terms.permit?.isInForce ?? true, !Task.isCancelled else {
            var outcomes = Outcomes(repeating: Outcome(.safe), count: batch.count)
            outcomes.withheld = PushError(
                .cancelled,
                "The task was cancelled, or its permit ended, before the push was sent."
            )
            return Delivered(outcomes)
        }
        var outcomes = Outcomes(repeating: .delivered, count: batch.count)
        for position in 0..<batch.count {
            if batch.isMalformed(position) {
                outcomes[position] = Outcome(.rejected, reason: .malformedToken)
                continue
            }
            switch answer(batch.token(of: position)) {
            case .delivered: break
            case .rejected(let status, let reason, let timestamp, let retryAfter):
                outcomes[position] = Outcome(
                    .rejected,
                    status: UInt16(clamping: status),
                    reason: outcomes.reason(named: reason),
                    timestamp: timestamp,
                    retryAfter: retryAfter.map { Int32(clamping: $0) }
                )
            case .safe:
                outcomes[position] = Outcome(.safe)
                outcomes.withheld = PushError(.unreachable, "The connection ended before the push was processed.")
            case .unknown: outcomes[position] = Outcome(.unknown)
            case .unreachable(let error):
                outcomes[position] = Outcome(.safe)
                outcomes.connectFailure = error
                continue
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
        return Delivered(outcomes)
    }

    /// Returns the given list.
    public func feedback(from gateway: Gateway, with credential: Credential) async throws(PushError) -> FeedbackList {
        FeedbackList(RecordedFeedback(deadTokens))
    }

    /// The same recording.
    public func separate() -> Self { self }

    /// Does nothing.
    public func outdate(idle: Duration) async {}

    /// Does nothing.
    public func shutdown() async {}
}

/// A given list, all of it at once.
private actor RecordedFeedback: FeedbackSource {
    private var entries: [Feedback]?
    let failure: PushError? = nil

    init(_ entries: [Feedback]) { self.entries = entries.isEmpty ? nil : entries }

    func nextPiece() -> [Feedback]? { entries.take() }
}

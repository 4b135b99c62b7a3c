/// The one place that says what became of a push. Whatever can happen to a stream, a connection or a queue is here
/// mapped to one of three: answered, safe to send again, or unknown.
enum OutcomeRules {
    /// Everything a push can come to, short of a full answer.
    enum Ending: Equatable {
        /// It was never handed to a connection: none could be made, its time ran out in the queue, or the session was
        /// shut down.
        case neverSubmitted
        /// It holds something that no request can hold, such as a line break in its topic.
        case unsendable
        /// Its stream ended without a full answer. It is surely unprocessed if the peer refused it, named a lower
        /// stream as its last, or was never sent the whole of it.
        case streamEnded(isSurelyUnprocessed: Bool)
    }

    /// A push without an answer is safe to send again only if it surely was not processed.
    static func outcome(of ending: Ending) -> Outcome {
        switch ending {
        case .neverSubmitted, .streamEnded(isSurelyUnprocessed: true): Outcome(.safe)
        case .streamEnded(isSurelyUnprocessed: false): Outcome(.unknown)
        case .unsendable: Outcome(.rejected, reason: .malformedHeader)
        }
    }

    /// A full answer: 200 is delivered, any other status is a rejection. A timestamp counts only with 410.
    static func outcome(
        status: UInt16,
        retryAfter: Int32?,
        body: RawSpan,
        keeping outcomes: inout Outcomes
    ) -> Outcome {
        if status == 200 { return .delivered }
        let reply = Reply(body)
        return Outcome(
            .rejected,
            status: status,
            reason: reply.reason(in: body, keeping: &outcomes),
            timestamp: status == 410 ? reply.timestamp : nil,
            retryAfter: retryAfter
        )
    }
}

/// Decides the outcome of an attempt over HTTP/2: answered, safe to send again, or unknown. `SentWindow` and `BinaryAnswer` do so
/// for the binary protocol. A push that cannot be sent at all, such as one to a malformed token, is rejected where that is found.
enum OutcomeRules {
    /// How a push can end without a full answer.
    enum PushEnding: Equatable {
        /// It was never handed to a connection.
        case neverSubmitted
        /// A request cannot contain it, for example because of a line break in its topic.
        case unsendable
        /// Its stream ended. `status` is that of an answer whose header arrived, or 0. The push was certainly not processed if the
        /// peer refused the stream, named a lower stream as its last, or did not get the whole request.
        case streamEnded(status: UInt16, isSurelyUnprocessed: Bool)
    }

    static func outcome(of ending: PushEnding) -> Outcome {
        switch ending {
        // The header of a 200 is enough: however the stream ends, the push must not be sent again.
        case .streamEnded(status: 200, _): .accepted
        case .neverSubmitted, .streamEnded(_, isSurelyUnprocessed: true): Outcome(.safe)
        case .streamEnded(_, isSurelyUnprocessed: false): Outcome(.unknown)
        case .unsendable: Outcome(.rejected, reason: .malformedHeader)
        }
    }

    /// A full answer: 200 is accepted, any other status is a rejection. A timestamp is valid only with 410.
    static func outcome(
        status: UInt16,
        retryAfter: Int32?,
        body: RawSpan,
        keeping outcomes: inout Outcomes
    ) -> Outcome {
        if status == 200 { return .accepted }
        let answer = AnswerBody(body)
        return Outcome(
            .rejected,
            status: status,
            reason: answer.reason(in: body, keeping: &outcomes),
            timestamp: status == 410 ? answer.timestamp : nil,
            retryAfter: retryAfter
        )
    }
}

import CarillonHTTP2
import CarillonIO

/// Handles the gateway's answers: their effect on the push, the connection and the provider token.
extension HTTP2Conversation {
    func readEvents(at now: MonotonicInstant) {
        var hasAnswer = false
        while let event = session.nextEvent() {
            switch event {
            case .settingsChanged:
                deadlines.settled()
                life.opened()
            case .settingsAcknowledged: deadlines.acknowledged()
            case .written(let tag): inFlight.restart(tag, at: now)
            case .begun(let submission): unfinished.append((submission, now))
            case .answered(let tag, let answer):
                let written = inFlight.since(tag)
                guard let push = inFlight.remove(tag) else { break }
                hasAnswer = true
                answers.answered(after: deadlines.lastHeard.nanoseconds - written.nanoseconds)
                ended += 1
                answered(push, answer, at: now)
            case .ended(let tag, let ending):
                guard let push = inFlight.remove(tag) else { break }
                ended += 1
                if ended(push, ending) { hasAnswer = true }
            case .goAway(let code): goneAway(code)
            }
        }
        if hasAnswer { deliveries.answered(at: now) }
    }

    private func answered(_ push: QueuedPush, _ answer: HTTP2Response, at now: MonotonicInstant) {
        if answer.hasField(0) { identify(push, by: answer) }
        // Nearly all answers take this path: what `OutcomeRules` says of a 200, without a look for a body.
        if answer.status == 200 { return accepted(push) }
        let outcome = session.withBody(of: answer) { body in
            deliveries.outcome(for: push) { outcomes in
                OutcomeRules.outcome(
                    status: answer.status,
                    retryAfter: answer.retryAfter,
                    body: body,
                    keeping: &outcomes
                )
            }
        }
        if follow(outcome, at: now) {
            deliveries.takeBack(push)
        } else {
            deliveries.end(push, outcome)
        }
    }

    private func accepted(_ push: QueuedPush) {
        isAccepted = true
        life.wasAnswered(isOfUse: true)
        deliveries.end(push, .accepted)
    }

    /// The sandbox sends `apns-unique-id` with each answer, production never.
    private func identify(_ push: QueuedPush, by answer: HTTP2Response) {
        let id = session.withField(0, of: answer) { value in
            PushID(String(decoding: value.byteOffsets.map { value[byte: $0] }, as: UTF8.self))
        }
        if let id { deliveries.identified(push, as: id) }
    }

    /// Acts on what a rejection means for the connection. Returns true if the push is to be sent again at once.
    private func follow(_ outcome: Outcome, at now: MonotonicInstant) -> Bool {
        switch outcome.action {
        case .failTopic where isBoundEarlier(at: now),
            .failToken where outcome.reason.isAboutTopic && isBoundEarlier(at: now):
            isAccepted = true
            life.wasAnswered(isOfUse: true)
            life.retire(.usedUp)
            return true
        case .renewProviderToken:
            life.wasAnswered(isOfUse: true)
            return renewToken()
        case .keepProviderToken, .holdCredential:
            life.wasAnswered(isOfUse: false)
            life.retire(.refused(outcome.reason.name ?? "status \(outcome.status)"))
        case .replaceConnection:
            life.wasAnswered(isOfUse: false)
            life.retire(.usedUp)
        default:
            isAccepted = true
            life.wasAnswered(isOfUse: true)
        }
        return false
    }

    /// Whether the connection is old enough that the topics of the signing key may have changed since its first push.
    private func isBoundEarlier(at now: MonotonicInstant) -> Bool {
        authorization != nil && life.age(at: now) > configuration.topicBindingAge
    }

    /// The provider token is too old, and the next one needs another connection. Returns false if this token had already been
    /// renewed.
    private func renewToken() -> Bool {
        life.retire(.usedUp)
        guard let authorization = self.authorization else { return false }
        refusedToken = authorization.token
        return !authorization.isRenewed
    }

    /// Returns whether the push was answered all the same.
    private func ended(_ push: QueuedPush, _ ending: StreamEnding) -> Bool {
        let outcome = OutcomeRules.outcome(
            of: .streamEnded(status: ending.status, isSurelyUnprocessed: ending.isSurelyUnprocessed)
        )
        switch outcome.verdict {
        case .accepted: accepted(push)
        case .safe: deliveries.takeBack(push, isRefused: life.isReady)
        default: deliveries.endUnanswered(push, because: whyUnanswered(ending))
        }
        return outcome.verdict == .accepted
    }

    private func whyUnanswered(_ ending: StreamEnding) -> PushError {
        switch ending.origin {
        case .reset: Self.late
        case .closed:
            session.failure.map { ConnectionEnd($0).unanswered }
                ?? PushError(.unreachable, "The gateway ended the request without an answer: \(ending.errorCode).")
        case .sessionEnded: (life.end ?? .closedByPeer).unanswered
        }
    }

    static let late = PushError(.timedOut, "The push was sent, and the gateway did not answer it in time.")

    /// The gateway accepts no more streams, perhaps because of the credential.
    private func goneAway(_ code: ErrorCode) {
        let debugData = session.goAwayDebugData
        var words = Outcomes(repeating: .pending, count: 0)
        // Safe: the array stays alive and unchanged during the calls.
        let bytes = unsafe debugData.span.bytes
        let reason = Reply(bytes).reason(in: bytes, keeping: &words)
        let text = words.text(of: reason)
        switch reason.isKnown ? reason.action(status: 0) : nil {
        case .holdCredential, .keepProviderToken: life.retire(.refused(text))
        case .renewProviderToken: _ = renewToken()
        default:
            let word = code == .noError ? nil : code.description
            life.retire(.goneAway(reason: text.isEmpty ? word : text))
        }
    }
}

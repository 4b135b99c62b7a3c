import HTTP2
import IO

/// What the gateway's answers mean: for the push, for the connection, for the provider token.
extension Conversation {
    /// Takes note of everything that the session has to tell.
    func readEvents(at now: MonotonicInstant) {
        var hasAnswer = false
        while let event = self.session.nextEvent() {
            switch event {
            case .settingsChanged: self.life.settled()
            case .settingsAcknowledged: self.life.acknowledged()
            case .written(let tag): self.inFlight.restart(tag, at: now)
            case .answered(let tag, let answer):
                let written = self.inFlight.since(tag)
                guard let push = self.inFlight.remove(tag) else { break }
                hasAnswer = true
                self.report.answered(after: self.life.lastHeard.nanoseconds - written.nanoseconds)
                self.ended += 1
                self.answered(push, answer)
            case .ended(let tag, let ending):
                guard let push = self.inFlight.remove(tag) else { break }
                self.ended += 1
                self.ended(push, ending)
            case .goAway(let goAway): self.sentAway(goAway.errorCode)
            case .pong: break
            }
        }
        if hasAnswer { self.deliveries.answered(at: now) }
    }

    private func answered(_ push: QueuedPush, _ answer: Answer) {
        // Nearly every answer is this one, and it says nothing more.
        if answer.status == 200 {
            self.isAccepted = true
            self.life.wasAnswered(isOfUse: true)
            return self.deliveries.end(push, .delivered)
        }
        let outcome = self.session.withBody(of: answer) { body in
            self.deliveries.outcome(for: push) { outcomes in
                OutcomeRules.outcome(
                    status: answer.status,
                    retryAfter: answer.retryAfter,
                    body: body,
                    keeping: &outcomes
                )
            }
        }
        if self.follow(outcome) {
            self.deliveries.takeBack(push)
        } else {
            self.deliveries.end(push, outcome)
        }
    }

    /// Does what a rejection asks of the connection. True if the push is to be sent again right away.
    private func follow(_ outcome: Outcome) -> Bool {
        switch outcome.action {
        case .renewProviderToken:
            self.life.wasAnswered(isOfUse: true)
            return self.renewToken()
        case .keepProviderToken, .pauseCredential:
            self.life.wasAnswered(isOfUse: false)
            self.life.retire(.refused(outcome.reason.name ?? "status \(outcome.status)"))
        case .replaceConnection:
            self.life.wasAnswered(isOfUse: false)
            self.life.retire(.usedUp)
        default:
            self.isAccepted = true
            self.life.wasAnswered(isOfUse: true)
        }
        return false
    }

    /// The provider token is too old, and this connection is not to see another. False if the last one was new.
    private func renewToken() -> Bool {
        self.life.retire(.usedUp)
        guard let authorization = self.authorization else { return false }
        self.refusedToken = authorization.token
        return !authorization.isRenewed
    }

    private func ended(_ push: QueuedPush, _ ending: HTTP2.Ending) {
        let outcome = OutcomeRules.outcome(
            of: .streamEnded(isSurelyUnprocessed: ending.isSurelyUnprocessed)
        )
        if outcome.verdict != .safe {
            self.deliveries.end(push, outcome)
        } else if self.life.isReady {
            self.deliveries.takeBack(push, orEnd: outcome)
        } else {
            self.deliveries.takeBack(push)
        }
    }

    /// The gateway takes no more streams. Why it does not may be the credential's fault.
    private func sentAway(_ code: ErrorCode) {
        let debugData = self.session.goAwayDebugData
        var words = Outcomes(repeating: .pending, count: 0)
        // A span of an array that stays alive and unchanged through the calls.
        let bytes = unsafe debugData.span.bytes
        let reason = Reply(bytes).reason(in: bytes, keeping: &words)
        let text = words.text(of: reason)
        switch reason.isKnown ? reason.action(status: 0) : nil {
        case .pauseCredential, .keepProviderToken: self.life.retire(.refused(text))
        case .renewProviderToken: _ = self.renewToken()
        default:
            let word = code == .noError ? nil : code.description
            self.life.retire(.goneAway(reason: text.isEmpty ? word : text))
        }
    }
}

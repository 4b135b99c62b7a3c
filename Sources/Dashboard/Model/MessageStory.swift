import CarillonPostgres
import CarillonSchema
import CarillonText

/// Explains in plain words what happened to a message, and why somebody did not get it.
struct MessageStory {
    let message: MessageStatus
    let failures: [MessageFailure]

    var sentences: [String] { [first] + reasons + unknown }

    private var first: String {
        let next = message.nextAttemptAt?.readable ?? "an unknown time"
        if let reason = message.waitingReason {
            return "It has not been sent yet: \(reason)".asSentence
                + (message.nextAttemptAt == nil ? "" : " It is due at \(next).")
        }
        switch message.state {
        case .scheduled:
            return "It waits until \(next): for its run_at, because of max_per_device, or for a short pause."
        case .ready where message.ended.total > 0, .inFlight where message.ended.total > 0:
            return "It is in progress: \(message.counts)."
        case .ready: return "It is ready and waits for its turn. A worker claims it as soon as it has capacity."
        case .inFlight: return "A worker is sending it: no answer has been recorded yet."
        case .retrying:
            let progress = message.ended.total > 0 ? "It is in progress: \(message.counts). " : ""
            if message.nextAttemptAt != nil { return "\(progress)\(lastAttempt) The next attempt is at \(next)." }
            // Behind a long queue, the rest may not be found: a retry, or pushes that were released unsent.
            return progress + (message.lastReason == nil ? "" : lastAttempt + " ")
                + "The rest is due and waits for its turn."
        case .sent:
            return
                "APNs accepted \(message.tokens == 1 ? "it" : "every push of it"). If it was not seen, the device was off until the "
                + "message expired, notifications of the app are turned off, a Focus hides them, or a later push with the same "
                + "collapse id replaced it. Apple does not report any of this to senders."
        case .expired:
            return "It was not sent before its expires_at." + (message.lastReason == nil ? "" : " " + lastAttempt)
        case .cancelled where message.wasSuperseded:
            return "It was not sent, because a newer update, or a newer background push with the same meaning, "
                + "replaced it."
        case .cancelled:
            return "It was cancelled before it was sent." + (message.lastReason == nil ? "" : " " + lastAttempt)
        case .empty: return "It had no device token, so there was nothing to send."
        case .partlySent:
            return
                "APNs accepted \(message.ended.sent.grouped) of \(Int(message.tokens).grouped) pushes; \(message.unsent)."
        case .failed: return "None of it was sent."
        }
    }

    private var lastAttempt: String {
        guard let answer = message.lastAnswer, let reason = message.lastReason else {
            return "The last attempt got no answer."
        }
        return "The last attempt was answered \(answer). \(ReasonText.meaning(of: reason))"
    }

    /// The reasons of the failures that were read, most frequent first.
    private var reasons: [String] {
        let groups = failures.reduce(into: [String: MessageFailure]()) { $0[$1.record.answer] = $1 }.values
        let all = Int(groups.map(\.ofReason).reduce(0, +))
        let scope = all < message.ended.failed ? "Of \(all.grouped) failures that were read: " : ""
        let order = groups.sorted { ($1.ofReason, $0.record.answer) < ($0.ofReason, $1.record.answer) }
        return order.prefix(5).map { group in
            let (reason, answer, count) = (group.record.reason, group.record.answer, group.ofReason)
            let remedy = message.app.flatMap { ReasonText.remedy(for: reason, of: $0) }.map { " " + $0 } ?? ""
            return
                "\(scope)\(Counted.text(count, "push", "pushes")) failed as \(answer). \(ReasonText.meaning(of: reason))\(remedy)"
        }
    }

    private var unknown: [String] {
        message.mayHaveArrived
            ? ["An attempt got no answer: that push may have been delivered, whatever is recorded."] : []
    }
}

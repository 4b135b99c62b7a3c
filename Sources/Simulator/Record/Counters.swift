/// Counts on the fast path: plain numbers by refusal and rule, told as ``SimulatorStatistics`` when asked.
struct Counters {
    private let rules: [AnswerRule]
    private var refusals = [Int](repeating: 0, count: Refusal.allCases.count)
    private var ruled: [Int]
    private var accepted = 0
    private var payloadBytes = 0
    /// What happens too seldom to matter is counted where it is told.
    var rare = SimulatorStatistics()

    init(rules: [AnswerRule]) {
        self.rules = rules
        ruled = Array(repeating: 0, count: rules.count)
    }

    /// A request waits for its answer: until it has it, there is none.
    mutating func requestHeld(payload: Int) {
        payloadBytes += payload
        rare.requests += 1
        rare.unanswered += 1
    }

    /// A request that waited has its answer.
    mutating func heldAnswered(_ verdict: Verdict) {
        rare.requests -= 1
        rare.unanswered -= 1
        requestJudged(verdict, payload: 0)
    }

    /// No verdict: the request was taken and nobody is there to answer.
    mutating func requestJudged(_ verdict: Verdict?, payload: Int) {
        payloadBytes += payload
        switch verdict {
        case nil:
            rare.requests += 1
            rare.unanswered += 1
        case .accepted: accepted += 1
        case .refused(let refusal): refusals[Int(refusal.rawValue)] += 1
        case .ruled(let rule): ruled[rule] += 1
        }
    }

    var statistics: SimulatorStatistics {
        var told = rare
        told.payloadBytes = payloadBytes
        told.note(accepted, status: 200, reason: nil)
        for refusal in Refusal.allCases {
            told.note(refusals[Int(refusal.rawValue)], status: refusal.status, reason: refusal.reason?.description)
        }
        for (rule, count) in zip(rules, ruled) {
            if case .answer(let status, let reason, _) = rule.action {
                told.note(count, status: status, reason: reason)
            } else {
                told.unanswered += count
                told.requests += count
            }
        }
        return told
    }
}

extension SimulatorStatistics {
    fileprivate mutating func note(_ count: Int, status: UInt16, reason: String?) {
        guard count > 0 else { return }
        requests += count
        byStatus[String(status), default: 0] += count
        if status == 200 {
            delivered += count
        } else {
            refused += count
            if let reason { byReason[reason, default: 0] += count }
        }
    }
}

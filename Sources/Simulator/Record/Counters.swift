/// Counters for the hot path: plain numbers by refusal and rule, from which ``SimulatorStatistics`` are computed on request.
struct Counters {
    private let rules: [AnswerRule]
    private var refusals = [Int](repeating: 0, count: APNsRefusal.allCases.count)
    private var ruled: [Int]
    private var accepted = 0
    private var payloadBytes = 0
    /// Counts of events that are too rare to matter on the hot path.
    var rare = SimulatorStatistics()

    init(rules: [AnswerRule]) {
        self.rules = rules
        ruled = Array(repeating: 0, count: rules.count)
    }

    /// Counts the answer to a request that was previously counted as unanswered.
    mutating func delayedAnswered(_ judgement: Judgement) {
        rare.requests -= 1
        rare.unanswered -= 1
        requestJudged(judgement, payload: 0)
    }

    /// Counts a request. If there is no judgement, it has no answer, or none yet.
    mutating func requestJudged(_ judgement: Judgement?, payload: Int) {
        payloadBytes += payload
        switch judgement {
        case nil:
            rare.requests += 1
            rare.unanswered += 1
        case .accepted: accepted += 1
        case .broadcast:
            accepted += 1
            rare.broadcasts += 1
        case .managed(let answer):
            rare.requests += 1
            rare.channelRequests += 1
            rare.byStatus[String(answer.status), default: 0] += 1
        case .refused(let refusal): refusals[Int(refusal.rawValue)] += 1
        case .ruled(let rule): ruled[rule] += 1
        }
    }

    var statistics: SimulatorStatistics {
        var statistics = rare
        statistics.payloadBytes = payloadBytes
        statistics.count(accepted, status: 200, reason: nil)
        for (refusal, count) in zip(APNsRefusal.allCases, refusals) {
            statistics.count(count, status: refusal.status, reason: refusal.reason?.description)
        }
        for (rule, count) in zip(rules, ruled) {
            if case .answer(let status, let reason, _) = rule.action {
                statistics.count(count, status: status, reason: reason)
            } else {
                statistics.unanswered += count
                statistics.requests += count
            }
        }
        return statistics
    }
}

extension SimulatorStatistics {
    fileprivate mutating func count(_ count: Int, status: UInt16, reason: String?) {
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

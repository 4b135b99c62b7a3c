/// All answers a simulator can give, by verdict.
struct Answers {
    private let refusals = Refusal.allCases.map { Answer($0) }
    private let rules: [Answer]

    init(rules: [AnswerRule]) {
        self.rules = rules.map { Answer($0) }
    }

    subscript(verdict: Verdict) -> Answer {
        switch verdict {
        case .accepted: .accepted
        case .refused(let refusal): refusals[Int(refusal.rawValue)]
        case .ruled(let rule): rules[rule]
        }
    }
}

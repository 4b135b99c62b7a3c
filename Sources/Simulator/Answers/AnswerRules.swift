import CarillonText

/// All rules, found by the device token's digits: the longest prefix wins.
///
/// A tree with sixteen branches per node. Most device tokens leave it at the first digit.
struct AnswerRules {
    private struct Use: Hashable {
        let rule: Int
        let token: UInt64
    }

    private static let none: Int32 = -1

    private let rules: [AnswerRule]
    /// Sixteen entries per node: the node that each next digit leads to.
    private var branches = Array(repeating: none, count: 16)
    /// The rule that ends at each node.
    private var ends = [none]
    /// The rules for requests about channels.
    private var named: [ChannelAction: Int] = [:]
    private let hasPrefixes: Bool
    /// How often each limited rule has applied to a device token. No entry is ever dropped, because its rule would then apply
    /// again.
    private var uses: [Use: UInt32] = [:]
    private let countedTokens: Int
    private let hash = DeviceTokenHash()
    /// How often a limited rule did not apply because no further device tokens are counted.
    private(set) var uncounted = 0

    /// Of two rules with the same prefix, the later applies.
    /// - Parameter countedTokens: How many device tokens the limited rules count, at about 40 bytes each. They do not apply to
    ///   further tokens.
    init(_ rules: [AnswerRule], countedTokens: Int = 1_000_000) {
        self.rules = rules
        self.countedTokens = countedTokens
        hasPrefixes = rules.contains { $0.channelAction == nil && $0.exportStep == nil }
        for (index, rule) in rules.enumerated() where rule.exportStep == nil {
            if let action = rule.channelAction {
                named[action] = index
                continue
            }
            var node = 0
            for digit in rule.prefix.utf8 {
                guard let value = Hexadecimal.value(of: digit) else { continue }
                let slot = node * 16 + Int(value)
                if branches[slot] == Self.none {
                    branches[slot] = Int32(ends.count)
                    branches.append(contentsOf: repeatElement(Self.none, count: 16))
                    ends.append(Self.none)
                }
                node = Int(branches[slot])
            }
            ends[node] = Int32(index)
        }
    }

    /// Whether there are no rules for device tokens.
    var isEmpty: Bool { !hasPrefixes }

    /// The judgement of the rule that applies to this push. Counts the use.
    mutating func judgement(on token: Span<UInt8>) -> Judgement {
        if !hasPrefixes { return .accepted }
        var depth = token.count
        while let (rule, at) = longest(token, upTo: depth) {
            guard let times = rules[rule].times else { return .ruled(rule) }
            if count(Use(rule: rule, token: hash.value(of: token)), upTo: times) { return .ruled(rule) }
            guard at > 0 else { break }
            depth = at - 1
        }
        return .accepted
    }

    /// The rule that applies to this request about channels. Counts the use by channel or, without one, by app.
    mutating func rule(for action: ChannelAction, _ subject: Span<UInt8>) -> Int? {
        guard let rule = named[action] else { return nil }
        guard let times = rules[rule].times else { return rule }
        return count(Use(rule: rule, token: hash.value(of: subject)), upTo: times) ? rule : nil
    }

    /// Whether a request under the rule gets an answer.
    func isAnswered(_ rule: Int) -> Bool {
        if case .answer = rules[rule].action { return true }
        return false
    }

    /// Whether the rule applies to the device token once more.
    private mutating func count(_ use: Use, upTo times: UInt32) -> Bool {
        let used = uses[use]
        if let used, used >= times { return false }
        if used == nil, uses.count >= countedTokens {
            uncounted += 1
            return false
        }
        uses[use] = (used ?? 0) + 1
        return true
    }

    /// Whether a push with this judgement is answered with 200.
    func isDelivered(_ judgement: Judgement) -> Bool {
        switch judgement {
        case .accepted, .broadcast: return true
        case .managed: return false
        case .refused: return false
        case .ruled(let rule):
            if case .answer(200, _, _) = rules[rule].action { return true }
            return false
        }
    }

    private func longest(_ token: Span<UInt8>, upTo limit: Int) -> (rule: Int, depth: Int)? {
        var found: (Int, Int)? = ends[0] == Self.none ? nil : (Int(ends[0]), 0)
        var node = 0
        var depth = 0
        while depth < limit, let value = Hexadecimal.value(of: token[depth]) {
            let next = branches[node * 16 + Int(value)]
            guard next != Self.none else { break }
            node = Int(next)
            depth += 1
            if ends[node] != Self.none { found = (Int(ends[node]), depth) }
        }
        return found
    }
}

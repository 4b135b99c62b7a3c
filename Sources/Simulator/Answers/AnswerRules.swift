/// All rules, found by the token's digits: the longest prefix wins.
///
/// A tree with sixteen branches a node; most tokens leave it at the first digit.
struct AnswerRules {
    private struct Use: Hashable {
        let rule: Int
        let token: UInt64
    }

    private static let none: Int32 = -1

    let rules: [AnswerRule]
    /// Sixteen a node; the node that each next digit leads to.
    private var branches: [Int32]
    /// The rule that ends at each node.
    private var ends: [Int32]
    /// How often a rule of limited times has held for a token. None is ever dropped: the rule would hold anew.
    private var uses: [Use: UInt32] = [:]
    private let countedTokens: Int
    private let hash = TokenHash()
    /// How often a rule of limited times did not hold because no further token is counted.
    private(set) var uncounted = 0

    /// Of two rules with one prefix the later holds.
    /// - Parameter countedTokens: How many tokens rules of limited times count: about 40 bytes each. They hold for no
    ///   others.
    init(_ rules: [AnswerRule], countedTokens: Int = 1_000_000) {
        self.rules = rules
        self.countedTokens = countedTokens
        branches = Array(repeating: Self.none, count: 16)
        ends = [Self.none]
        for (index, rule) in rules.enumerated() {
            var node = 0
            for digit in rule.prefix.utf8 {
                guard let nibble = HeaderForm.nibble(digit) else { continue }
                let slot = node * 16 + Int(nibble)
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

    var isEmpty: Bool { rules.isEmpty }

    /// The rule that holds for this push, counted as used; nil where none does.
    mutating func take(_ token: Span<UInt8>) -> Int? {
        var depth = token.count
        while let (rule, at) = longest(token, upTo: depth) {
            guard let times = rules[rule].times else { return rule }
            if count(Use(rule: rule, token: hash.value(of: token)), upTo: times) { return rule }
            guard at > 0 else { return nil }
            depth = at - 1
        }
        return nil
    }

    /// Whether the rule holds for the token once more.
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

    /// Whether a push ends with 200 by that verdict.
    func isDelivered(_ verdict: Verdict) -> Bool {
        switch verdict {
        case .accepted: return true
        case .refused: return false
        case .ruled(let rule):
            guard case .answer(200, _, _) = rules[rule].action else { return false }
            return true
        }
    }

    private func longest(_ token: Span<UInt8>, upTo limit: Int) -> (rule: Int, depth: Int)? {
        var found: (Int, Int)? = ends[0] == Self.none ? nil : (Int(ends[0]), 0)
        var node = 0
        var depth = 0
        while depth < limit, let nibble = HeaderForm.nibble(token[depth]) {
            let next = branches[node * 16 + Int(nibble)]
            guard next != Self.none else { break }
            node = Int(next)
            depth += 1
            if ends[node] != Self.none { found = (Int(ends[node]), depth) }
        }
        return found
    }
}

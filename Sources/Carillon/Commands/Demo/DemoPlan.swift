import FoundationEssentials
import Simulator

/// What the demonstration sends: so many pushes, each to a token of its own whose first digits say what the gateway
/// will make of it.
struct DemoPlan: Sendable {
    static let registeredDaysAgo = 30

    enum Kind: String, CaseIterable, Sendable {
        /// Taken at once.
        case good = "a0"
        /// Refused with 429 the first time, taken the second.
        case throttled = "e0"
        /// Unregistered since before yesterday: to be reaped.
        case dead = "d0"
        /// Unregistered long ago, and registered again since: to survive.
        case renewed = "d1"
        /// No token of the app's.
        case bad = "b0"
    }

    let messages: Int

    func count(of kind: Kind) -> Int {
        switch kind {
        case .throttled: messages * 5 / 100
        case .dead: messages * 4 / 100
        case .renewed: messages / 100
        case .bad: messages * 2 / 100
        case .good:
            messages - Kind.allCases.filter { $0 != .good }.reduce(0) { $0 + count(of: $1) }
        }
    }

    /// How many pushes are to be taken by the gateway, sooner or later.
    var expectedSent: Int { count(of: .good) + count(of: .throttled) }

    var expectedFailed: Int { messages - expectedSent }

    func tokens(of kind: Kind) -> [String] {
        (0..<count(of: kind)).map { number in
            let digits = String(number, radix: 16)
            return kind.rawValue + String(repeating: "0", count: 62 - digits.count) + digits
        }
    }

    /// How the gateway is to answer. That of the dead has seen them gone since they were registered, that of the renewed
    /// before.
    func answers(now: Date = .now) throws(SimulatorError) -> [AnswerRule] {
        let millisecondsADay: Int64 = 86_400_000
        let now = Int64(now.timeIntervalSince1970 * 1_000)
        return [
            try AnswerRule(prefix: Kind.throttled.rawValue, status: 429, reason: "TooManyRequests", times: 1),
            try AnswerRule(
                prefix: Kind.dead.rawValue,
                status: 410,
                reason: "Unregistered",
                timestamp: .milliseconds(now - millisecondsADay)
            ),
            try AnswerRule(
                prefix: Kind.renewed.rawValue,
                status: 410,
                reason: "Unregistered",
                timestamp: .milliseconds(now - 2 * Int64(Self.registeredDaysAgo) * millisecondsADay)
            ),
            try AnswerRule(prefix: Kind.bad.rawValue, status: 400, reason: "BadDeviceToken"),
        ]
    }

    static func kind(of token: String) -> Kind? { Kind(rawValue: String(token.prefix(2))) }

    /// All tokens, spread so that each job holds a mix.
    func mixedTokens() -> [String] {
        // Each token at its place between 0 and 1 among its kind; sorting by place shuffles the kinds together.
        let placed = Kind.allCases.flatMap { kind in
            let tokens = tokens(of: kind)
            return tokens.enumerated().map { (place: (Double($0) + 0.5) / Double(tokens.count), token: $1) }
        }
        return placed.sorted { ($0.place, $0.token) < ($1.place, $1.token) }.map(\.token)
    }
}

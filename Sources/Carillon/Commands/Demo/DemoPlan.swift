import ApplePushSimulator
import FoundationEssentials

/// What the demonstration sends: each push goes to a token of its own, whose first digits determine the gateway's
/// answer.
struct DemoPlan: Sendable {
    static let registeredDaysAgo = 30

    enum Kind: String, CaseIterable, Sendable {
        /// Accepted at once.
        case good = "a0"
        /// Refused with 429 the first time, accepted the second time.
        case throttled = "e0"
        /// Unregistered since yesterday: must be deleted.
        case dead = "d0"
        /// Unregistered long ago and registered again since: must be kept.
        case renewed = "d1"
        /// Not a token of the app.
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

    /// How many pushes the gateway will accept, sooner or later.
    var expectedSent: Int { count(of: .good) + count(of: .throttled) }

    var expectedFailed: Int { messages - expectedSent }

    func tokens(of kind: Kind) -> [String] {
        (0..<count(of: kind)).map { number in
            let digits = String(number, radix: 16)
            return kind.rawValue + String(repeating: "0", count: 62 - digits.count) + digits
        }
    }

    /// The gateway's answers. Dead tokens are reported dead since after their registration, renewed ones since before
    /// it.
    func answers() throws(SimulatorError) -> [AnswerRule] {
        let millisecondsADay: Int64 = 86_400_000
        let now = Int64(Date.now.timeIntervalSince1970 * 1_000)
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

    /// All tokens, spread so that each job has a mix of kinds.
    func mixedTokens() -> [String] {
        // Gives each token a position between 0 and 1 among its kind; sorting by position mixes the kinds.
        let placed = Kind.allCases.flatMap { kind in
            let tokens = tokens(of: kind)
            return tokens.enumerated().map { (place: (Double($0) + 0.5) / Double(tokens.count), token: $1) }
        }
        return placed.sorted { ($0.place, $0.token) < ($1.place, $1.token) }.map(\.token)
    }
}

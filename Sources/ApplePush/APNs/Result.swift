extension APNs {
    /// The outcomes of a message.
    public struct Result: Sendable {
        /// Why APNs rejected a push to one token.
        public struct Failure: Hashable, Sendable {
            /// The status of the answer; 0 if the token is not a hexadecimal number, so that nothing was sent.
            public let status: Int
            /// Apple's name of the reason.
            public let reason: String
            /// What to do about it.
            public let action: Reason.Action
            /// With status 410: when the token was last known to be dead, in milliseconds since 1970.
            public let timestamp: Int64?
        }

        /// A failure not caused by a token, and the tokens that it affected.
        public struct Problem: Hashable, Sendable {
            /// The status of the answer; 0 if there was none.
            public let status: Int
            /// Apple's name for the reason, or `OutcomeUnknown` if there was no answer.
            public let reason: String
            /// What to do about it; nil if there was no answer.
            public let action: Reason.Action?
            /// The tokens that the pushes were for.
            public fileprivate(set) var tokens: [String]
        }

        private let message: Message
        private let outcomes: Outcomes

        /// How many pushes APNs accepted.
        public private(set) var accepted = 0

        /// How many pushes have an unknown outcome: they were sent, but not answered.
        public private(set) var unknown = 0

        /// Why the outcome of the first of them is unknown; nil if there are none.
        public let unknownReason: PushError?

        /// The tokens that failed permanently, each with the reason.
        public private(set) var failed: [String: Failure] = [:]

        /// Other failures: one entry for each status and reason.
        public private(set) var errors: [Problem] = []

        /// The tokens whose pushes were certainly not processed. A retry cannot cause duplicates.
        public private(set) var unsent: [String] = []

        /// Why they were not sent; nil if all pushes were sent or the reason is unknown.
        public let unsentReason: PushError?

        /// The dead tokens among the failed ones. Delete each that was not registered again after `timestamp`.
        public private(set) var feedback: [Feedback] = []

        /// How many seconds the gateway asked to wait before a retry.
        public private(set) var retryAfter: Int?

        private var retryTokens: [String] = []
        /// How many pushes went to the tokens in `failed`. A message may name a token twice.
        private var failedPushes = 0

        init(of message: Message, _ outcomes: Outcomes) {
            self.message = message
            self.outcomes = outcomes
            unsentReason = outcomes.unsentReason
            unknownReason = outcomes.unanswered
            for (token, outcome) in zip(message.tokens, outcomes) {
                add(outcome, of: token, reason: outcomes.text(of: outcome.reason))
            }
        }

        /// Every push, in the order of the tokens: its identity, answer and reason.
        public var pushes: [Push] { Push.all(of: message, outcomes) }

        /// Whether the task was cancelled before everything was sent.
        public var isCancelled: Bool { unsentReason?.code == .cancelled }

        /// Whether the gateway refused the credential. A retry is useful only with another credential.
        public var isCredentialRefused: Bool {
            unsentReason?.code == .refused || errors.contains { $0.action == .holdCredential }
        }

        /// Whether some pushes are worth a retry. After ``isCredentialRefused``, only with another credential.
        public var needsRetry: Bool { !retryTokens.isEmpty }

        /// The same message to the tokens that are worth a retry, or nil if there are none. Its pushes keep their identities.
        public func retry() -> Message? {
            guard needsRetry else { return nil }
            var message = self.message
            message.tokens = retryTokens
            return message
        }

        private mutating func add(_ outcome: Outcome, of token: String, reason: String) {
            if outcome.isRetryable { retryTokens.append(token) }
            if let seconds = outcome.retryAfter { retryAfter = max(retryAfter ?? 0, Int(seconds)) }
            switch outcome.verdict {
            case .accepted: accepted += 1
            case .safe: unsent.append(token)
            case .pending: break
            case .unknown:
                unknown += 1
                add(0, "OutcomeUnknown", nil, token)
            case .rejected:
                let status = Int(outcome.status)
                let action = outcome.reason.action(status: outcome.status)
                switch action {
                case .failToken, .deleteToken:
                    failedPushes += 1
                    if failed[token]?.action == .deleteToken { break }
                    failed[token] = Failure(
                        status: status,
                        reason: reason,
                        action: action,
                        timestamp: outcome.timestamp
                    )
                    if action == .deleteToken { feedback.append(Feedback(token: token, timestamp: outcome.timestamp)) }
                default: add(status, reason, action, token)
                }
            }
        }

        private mutating func add(_ status: Int, _ reason: String, _ action: Reason.Action?, _ token: String) {
            if let index = errors.firstIndex(where: { $0.status == status && $0.reason == reason }) {
                errors[index].tokens.append(token)
            } else {
                errors.append(Problem(status: status, reason: reason, action: action, tokens: [token]))
            }
        }
    }
}

extension APNs.Result: CustomStringConvertible {
    /// A line for logs: `996 accepted, 2 failed (410 Unregistered), 1 rejected (429 TooManyRequests), 1 not sent (timedOut)`. The
    /// numbers count pushes and add up to their total.
    public var description: String {
        var parts = ["\(accepted) accepted"]
        if failedPushes > 0 {
            parts.append("\(failedPushes) failed (\(Self.list(failed.values.map { ($0.status, $0.reason) })))")
        }
        let rejections = errors.filter { $0.action != nil }
        if !rejections.isEmpty {
            let count = rejections.reduce(0) { $0 + $1.tokens.count }
            parts.append("\(count) rejected (\(Self.list(rejections.map { ($0.status, $0.reason) })))")
        }
        if !unsent.isEmpty { parts.append("\(unsent.count) not sent" + (unsentReason.map { " (\($0.code))" } ?? "")) }
        if unknown > 0 {
            parts.append("\(unknown) with unknown outcome" + (unknownReason.map { " (\($0.code))" } ?? ""))
        }
        return parts.joined(separator: ", ")
    }

    private static func list(_ answers: [(status: Int, reason: String)]) -> String {
        Set(answers.map { $0.status == 0 ? $0.reason : "\($0.status) \($0.reason)" }).sorted().joined(separator: ", ")
    }
}

extension APNs {
    /// One push of a message: where it went and how it ended.
    public struct Push: Sendable {
        /// The device token, or the channel's id.
        public let token: String

        /// The identity that it carried in the header `apns-id`.
        public let id: PushID

        /// How it ended.
        public let outcome: Outcome

        /// Apple's name for the reason, if APNs rejected it.
        public let reason: String?

        /// The identity under which Apple's push console lists it, from the header `apns-unique-id`. The sandbox sends it and, for
        /// accepted broadcasts to channels, production.
        public let uniqueID: PushID?

        /// Why it was not sent, if it was not.
        public let unsentReason: PushError?

        /// Why its outcome is unknown, if it is. The reason is that of the message's first such push.
        public let unknownReason: PushError?

        /// Whether APNs accepted it.
        public var isAccepted: Bool { outcome.verdict == .accepted }

        /// Whether the token is dead: delete it, unless it was registered again after `outcome.timestamp`.
        public var isDead: Bool { outcome.action == .deleteToken }

        /// Whether it is worth a retry.
        public var isRetryable: Bool { outcome.isRetryable }

        /// The status of the answer; 0 if there was none.
        public var status: Int { Int(outcome.status) }

        /// All pushes of a message, in the order of its tokens.
        static func all(of message: Message, _ outcomes: Outcomes) -> [Self] {
            message.tokens.indices.map { Self(to: message.tokens[$0], of: message, outcomes, at: $0) }
        }

        init(to channel: ChannelID, as message: Message, _ outcomes: Outcomes) {
            self.init(to: channel.description, as: message.pushID(for: channel.hexadecimal), outcomes, at: 0)
        }

        private init(to token: String, of message: Message, _ outcomes: Outcomes, at position: Int) {
            self.init(to: token, as: message.pushID(for: token), outcomes, at: position)
        }

        private init(to token: String, as id: PushID, _ outcomes: Outcomes, at position: Int) {
            self.token = token
            self.id = id
            outcome = outcomes[position]
            reason = outcome.verdict == .rejected ? outcomes.text(of: outcome.reason) : nil
            uniqueID = outcomes.uniqueID(at: position)
            unsentReason = outcome.verdict == .safe ? outcomes.unsentReason : nil
            unknownReason = outcome.verdict == .unknown ? outcomes.unanswered : nil
        }
    }
}

extension APNs.Push: CustomStringConvertible {
    /// A line for logs: `a1b2… 410 Unregistered`. The token is shortened.
    public var description: String {
        let end =
            switch outcome.verdict {
            case .accepted: "accepted"
            case .rejected: "\(status) \(reason ?? "")"
            case .safe: "not sent: \(unsentReason?.code.description ?? "the connection ended")"
            case .unknown: "outcome unknown" + (unknownReason.map { ": \($0.code)" } ?? "")
            case .pending: "pending"
            }
        return token.prefix(8) + "… " + end
    }
}

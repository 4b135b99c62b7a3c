/// What to answer to the pushes whose token begins with a prefix.
public struct AnswerRule: Sendable, Hashable {
    /// What becomes of such a push.
    public enum Action: Sendable, Hashable {
        /// It is answered.
        case answer(status: UInt16, reason: String?, timestamp: Timestamp)
        /// It is taken and never answered, as APNs has been seen to do.
        case silence
        /// Its stream is reset with `INTERNAL_ERROR` after it was taken.
        case reset
    }

    /// The `timestamp` in the body of an answer.
    public enum Timestamp: Sendable, Hashable {
        /// None, as with every status but 410.
        case none
        /// The time of the request.
        case now
        /// Milliseconds since 1970.
        case milliseconds(Int64)

        var milliseconds: Int64? {
            if case .milliseconds(let milliseconds) = self { milliseconds } else { nil }
        }
    }

    /// Hexadecimal digits in lower case; empty for every token.
    public let prefix: String
    /// What becomes of a push under this rule.
    public let action: Action
    /// Sent as `retry-after`, in seconds.
    public let retryAfter: UInt32?
    /// How many times the rule holds for one token, after which the token is answered as though the rule were not
    /// there; nil for always. Such rules count a million tokens together, and hold for no further one.
    public let times: UInt32?

    /// A rule whose reason and timestamp, where left out, are those that Apple has for the status.
    public init(
        prefix: String,
        status: UInt16,
        reason: String? = nil,
        timestamp: Timestamp? = nil,
        retryAfter: UInt32? = nil,
        times: UInt32? = nil
    ) throws(SimulatorError) {
        guard (200...599).contains(status) else {
            throw SimulatorError(.badRule, "An answer's status is between 200 and 599, not \(status).")
        }
        let action = Action.answer(
            status: status,
            reason: reason ?? Self.usualReason(of: status),
            timestamp: timestamp ?? (status == 410 ? .now : .none)
        )
        try self.init(prefix: prefix, action: action, retryAfter: retryAfter, times: times)
    }

    /// A rule of any kind.
    public init(
        prefix: String,
        action: Action,
        retryAfter: UInt32? = nil,
        times: UInt32? = nil
    ) throws(SimulatorError) {
        let digits = prefix == "*" ? "" : prefix.lowercased()
        guard digits.utf8.allSatisfy({ HeaderForm.nibble($0) != nil }) else {
            throw SimulatorError(
                .badRule,
                "\"\(prefix)\" is no token prefix: it takes hexadecimal digits, or * for all."
            )
        }
        guard digits.utf8.count <= 200 else {
            throw SimulatorError(.badRule, "A token prefix has at most 200 digits, this one has \(digits.utf8.count).")
        }
        self.prefix = digits
        self.action = action
        self.retryAfter = retryAfter
        self.times = times
    }

    /// Reads `PREFIX=STATUS[:REASON[:UNIX_MS]][+SECONDS][*TIMES]`.
    ///
    /// `STATUS` may be `silence` or `reset` instead of a number. `UNIX_MS` may be `-` for a 410 without a timestamp;
    /// left out, it is the time of the request. `+SECONDS` adds a `retry-after` field, `*TIMES` lets the rule hold
    /// only so many times for each token: `d4=429:TooManyRequests*2` throttles a token twice, then takes it.
    public init(parsing text: String) throws(SimulatorError) {
        guard let equals = text.firstIndex(of: "=") else {
            throw Self.unreadable(text, "it has no \"=\"")
        }
        var rest = text[text.index(after: equals)...]
        let times = try Self.suffix(after: "*", of: &rest, in: text)
        if times == 0 { throw Self.unreadable(text, "a rule holds at least once") }
        let retryAfter = try Self.suffix(after: "+", of: &rest, in: text)
        let prefix = String(text[..<equals])
        if prefix.isEmpty { throw Self.unreadable(text, "it has no prefix; * is for all tokens") }
        let parts = rest.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        switch parts[0] {
        case "silence", "reset":
            guard parts.count == 1 else { throw Self.unreadable(text, "\"\(parts[0])\" takes no reason") }
            guard retryAfter == nil else { throw Self.unreadable(text, "\"\(parts[0])\" takes no seconds") }
            try self.init(prefix: prefix, action: parts[0] == "reset" ? .reset : .silence, times: times)
        default:
            guard let status = UInt16(parts[0]) else {
                throw Self.unreadable(text, "\"\(parts[0])\" is no status")
            }
            var timestamp: Timestamp?
            if parts.count == 3 {
                if parts[2] == "-" {
                    timestamp = Timestamp.none
                } else if let milliseconds = Int64(parts[2]) {
                    timestamp = .milliseconds(milliseconds)
                } else {
                    throw Self.unreadable(text, "\"\(parts[2])\" is no time in milliseconds since 1970")
                }
            }
            let reason = parts.count > 1 && !parts[1].isEmpty ? String(parts[1]) : nil
            if let reason, reason.first?.isLetter != true {
                throw Self.unreadable(text, "\"\(reason)\" is no reason, which begins with a letter")
            }
            try self.init(
                prefix: prefix,
                status: status,
                reason: reason,
                timestamp: timestamp,
                retryAfter: retryAfter,
                times: times
            )
        }
    }

    /// What is odd about the rule, in a sentence: Apple answers otherwise, and it may be a slip. Nil for most.
    public var oddity: String? {
        guard case .answer(let status, let reason, _) = action else { return nil }
        let name = prefix.isEmpty ? "*" : prefix
        if status == 200 {
            guard let reason else { return nil }
            return "The rule for \(name) answers with 200, which has no reason: \(reason) is left out."
        }
        let known = Self.reasons(of: status)
        if known.isEmpty { return "The rule for \(name) answers with \(status), which Apple does not use." }
        guard let reason, !known.contains(reason) else { return nil }
        let list = known.sorted().joined(separator: ", ")
        return "The rule for \(name) answers with \(reason), which Apple does not have for \(status): \(list)."
    }

    private static func reasons(of status: UInt16) -> Set<String> {
        let own = Refusal.allCases.filter { $0.status == status }.compactMap { $0.reason?.description }
        let others: [String] =
            switch status {
            case 400: ["IdleTimeout"]
            case 403: ["Forbidden"]
            case 410: ["Unregistered", "ExpiredToken"]
            case 429: ["TooManyRequests"]
            case 500: ["InternalServerError"]
            case 503: ["ServiceUnavailable", "Shutdown"]
            default: []
            }
        return Set(own + others)
    }

    private static func suffix(
        after mark: Character,
        of rest: inout Substring,
        in text: String
    ) throws(SimulatorError) -> UInt32? {
        guard let at = rest.lastIndex(of: mark) else { return nil }
        guard let number = UInt32(rest[rest.index(after: at)...]) else {
            throw unreadable(text, "a whole number must follow \"\(mark)\"")
        }
        rest = rest[..<at]
        return number
    }

    private static func unreadable(_ text: String, _ why: String) -> SimulatorError {
        SimulatorError(
            .badRule,
            "\"\(text)\" is no answer rule: \(why). Write PREFIX=STATUS[:REASON[:UNIX_MS]][+SECONDS][*TIMES], "
                + "such as dead=410:Unregistered or d4=429:TooManyRequests*2."
        )
    }

    private static func usualReason(of status: UInt16) -> String? {
        switch status {
        case 400: "BadDeviceToken"
        case 403: "InvalidProviderToken"
        case 404: "BadPath"
        case 405: "MethodNotAllowed"
        case 410: "Unregistered"
        case 413: "PayloadTooLarge"
        case 429: "TooManyRequests"
        case 500: "InternalServerError"
        case 503: "ServiceUnavailable"
        default: nil
        }
    }
}

import CarillonText

/// The answer to pushes whose device token begins with a prefix, or to requests about channels.
public struct AnswerRule: Sendable, Hashable {
    /// What happens to such a push.
    public enum Action: Sendable, Hashable {
        /// It is answered.
        case answer(status: UInt16, reason: String?, timestamp: Timestamp)
        /// It is received and never answered, as sometimes happens with APNs.
        case silence
        /// It is received, and its stream is reset with `INTERNAL_ERROR`.
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
    }

    /// Hexadecimal digits in lower case, empty for all device tokens; the action of a request about channels: `broadcast`,
    /// `create`, `read`, `remove` or `list`; or a request to the export service of metrics: `export`, `poll` or `download`.
    public let prefix: String
    /// What happens to a push under this rule.
    public let action: Action
    /// Sent as `retry-after`, in seconds.
    public let retryAfter: UInt32?
    /// How many times the rule applies to one device token before it is ignored for that token; nil for always. Such rules together
    /// count up to a million device tokens, and do not apply to further ones.
    public let times: UInt32?

    /// A rule. A missing reason or timestamp defaults to Apple's usual one for the status.
    public init(
        prefix: String,
        status: UInt16,
        reason: String? = nil,
        timestamp: Timestamp? = nil,
        retryAfter: UInt32? = nil,
        times: UInt32? = nil
    ) throws(SimulatorError) {
        guard (200...599).contains(status) else {
            throw SimulatorError(.badRule, "An answer's status must be between 200 and 599, not \(status).")
        }
        let action = Action.answer(
            status: status,
            reason: reason ?? Self.reasons(of: status).first,
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
        let isNamed = ExportStep(rawValue: digits) != nil || ChannelAction(rawValue: digits) != nil
        guard isNamed || digits.utf8.allSatisfy({ Hexadecimal.value(of: $0) != nil }) else {
            let names = (ChannelAction.allCases.map(\.rawValue) + ExportStep.allCases.map(\.rawValue))
                .joined(separator: ", ")
            throw SimulatorError(
                .badRule,
                "\"\(prefix)\" is not a prefix: give hexadecimal digits, * for all device tokens, or one of \(names)."
            )
        }
        guard digits.utf8.count <= 200 else {
            throw SimulatorError(.badRule, "A prefix has at most 200 digits, and this one has \(digits.utf8.count).")
        }
        self.prefix = digits
        self.action = action
        self.retryAfter = retryAfter
        self.times = times
    }

    /// Reads `PREFIX=STATUS[:REASON[:UNIX_MS]][+SECONDS][*TIMES]`.
    ///
    /// `STATUS` may be `silence` or `reset` instead of a number. `UNIX_MS` may be `-` for a 410 without a timestamp;
    /// left out, it is the time of the request. `+SECONDS` adds a `retry-after` field. `*TIMES` limits how often the rule
    /// applies to each device token: `d4=429:TooManyRequests*2` throttles a device token twice, then accepts it.
    public init(parsing text: String) throws(SimulatorError) {
        guard let equals = text.firstIndex(of: "=") else { throw Self.unreadable(text, "it has no \"=\"") }
        var rest = text[text.index(after: equals)...]
        let times = try Self.suffix(after: "*", of: &rest, in: text)
        if times == 0 { throw Self.unreadable(text, "a rule applies at least once") }
        let retryAfter = try Self.suffix(after: "+", of: &rest, in: text)
        let prefix = String(text[..<equals])
        if prefix.isEmpty { throw Self.unreadable(text, "it has no prefix; * is for all tokens") }
        let parts = rest.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        if parts[0] == "silence" || parts[0] == "reset" {
            guard parts.count == 1 else { throw Self.unreadable(text, "\"\(parts[0])\" takes no reason") }
            guard retryAfter == nil else { throw Self.unreadable(text, "\"\(parts[0])\" takes no seconds") }
            try self.init(prefix: prefix, action: parts[0] == "reset" ? .reset : .silence, times: times)
            return
        }
        guard let status = UInt16(parts[0]) else { throw Self.unreadable(text, "\"\(parts[0])\" is not a status") }
        var timestamp: Timestamp?
        if parts.count == 3 {
            if parts[2] == "-" {
                timestamp = Timestamp.none
            } else if let milliseconds = Int64(parts[2]) {
                timestamp = .milliseconds(milliseconds)
            } else {
                throw Self.unreadable(text, "\"\(parts[2])\" is not a time in milliseconds since 1970")
            }
        }
        let reason = parts.count > 1 && !parts[1].isEmpty ? String(parts[1]) : nil
        if let reason, reason.first?.isLetter != true {
            throw Self.unreadable(text, "\"\(reason)\" is not a reason, which begins with a letter")
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

    /// The action of the channel requests that it applies to; nil for a rule for device tokens.
    var channelAction: ChannelAction? { ChannelAction(rawValue: prefix) }

    /// The request to the export service that it applies to; nil for other rules.
    var exportStep: ExportStep? { ExportStep(rawValue: prefix) }

    /// The prefix as it was written: `*` for every device token.
    var name: String { prefix.isEmpty ? "*" : prefix }

    /// A warning if Apple would never answer like this, because that may be a mistake; nil for most rules.
    public var oddity: String? {
        guard exportStep == nil, case .answer(let status, let reason, _) = action else { return nil }
        if status == 200 {
            return reason.map { "The rule for \(name) answers with 200, which has no reason: \($0) is left out." }
        }
        let known = Self.reasons(of: status)
        if known.isEmpty { return "The rule for \(name) answers with \(status), which Apple does not use." }
        guard let reason, !known.contains(reason) else { return nil }
        let list = Set(known).sorted().joined(separator: ", ")
        return "The rule for \(name) answers with \(reason), which Apple does not have for \(status): \(list)."
    }

    /// Apple's reasons for a status, the most usual first.
    private static func reasons(of status: UInt16) -> [String] {
        let first =
            switch status {
            case 400: ["BadDeviceToken", "IdleTimeout", "FeatureNotEnabled", "BroadcastFeatureNotEnabled"]
            // Apple's table has BadEnvironmentKeyIdInToken, and clients know the shorter name too.
            case 403: ["InvalidProviderToken", "Forbidden", "BadEnvironmentKeyInToken"]
            case 410: ["Unregistered", "ExpiredToken"]
            case 429: ["TooManyRequests"]
            case 500: ["InternalServerError"]
            case 503: ["ServiceUnavailable", "Shutdown"]
            default: [String]()
            }
        return first + APNsRefusal.allCases.filter { $0.status == status }.compactMap { $0.reason?.description }
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
            "\"\(text)\" is not an answer rule: \(why). Write PREFIX=STATUS[:REASON[:UNIX_MS]][+SECONDS][*TIMES], "
                + "such as dead=410:Unregistered or d4=429:TooManyRequests*2."
        )
    }
}

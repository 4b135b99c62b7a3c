import CarillonIO

/// When a statement of webhooks is sent again that PostgreSQL has refused: after waits that grow up to two seconds, for each kind of
/// statement. It is then a try, for which the worker has a pace: see `WebhookTries`.
struct WebhookRefusals {
    private var waits: [String: (backOff: BackOff, end: MonotonicInstant)] = [:]

    /// Nil if the last statement of the name was not refused.
    func next(_ name: String) -> MonotonicInstant? { waits[name]?.end }

    mutating func refused(_ name: String, at now: MonotonicInstant, using random: inout some RandomNumberGenerator) {
        var backOff = waits[name]?.backOff ?? BackOff(from: .milliseconds(100), to: .seconds(2))
        let end = now + backOff.next(using: &random)
        waits[name] = (backOff, end)
    }

    mutating func succeeded(_ name: String) { waits[name] = nil }
}

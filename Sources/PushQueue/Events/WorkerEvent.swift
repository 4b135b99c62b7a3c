package import CarillonText

/// An event for the log: its level, its sentence and its fields. A function in this folder makes each kind of event. Its receiver
/// must not block.
package struct WorkerEvent: Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case started, draining, gaveUp, ended, leaseLost, tookOver
        case databaseLost, databaseSilent, databaseAway, databaseBack, databaseWentBack, databaseError, lockMet,
            maintained, maintenanceFailed
        case stale, unrecorded, cannotEnd, split, retrying, topicRefused
        case held, holdEnded, breakerOpened, tokenMinted, credentialExpires
        case feedbackRead, reaped, notReaped
        case channelMade, channelMadeTooLate, channelFailed, channelsCompared, channelsNotCompared

        /// As in the log, where programs look for it.
        package var name: String { rawValue.snakeCase }
    }

    package let kind: Kind
    package let level: LogLevel
    package let message: String
    package private(set) var fields: [(name: String, value: JSONValue)] = []
    /// What it changes in the counters.
    private(set) var count: @Sendable (inout WorkerCounters) -> Void = { _ in }

    init(_ kind: Kind, _ level: LogLevel, _ message: String) {
        self.kind = kind
        self.level = level
        self.message = message
    }

    func with(_ fields: KeyValuePairs<String, any JSONConvertible>) -> Self {
        var event = self
        event.fields += fields.map { ($0.key, $0.value.json) }
        return event
    }

    func counted(_ count: @escaping @Sendable (inout WorkerCounters) -> Void) -> Self {
        var event = self
        event.count = count
        return event
    }
}

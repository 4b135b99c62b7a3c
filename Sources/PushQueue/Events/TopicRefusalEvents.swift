import ApplePush
import CarillonIO

/// When to log that pushes of an app fail because of their topic, a fault of its settings: at once, and then twice a minute for
/// each app and reason.
struct TopicRefusalEvents: Sendable {
    struct Item: Equatable {
        let refusal: Settlement.TopicRefusal
        /// How many have failed since this was logged last.
        let pushes: Int
        /// How many pushes of the app were sent in the same time.
        let sent: Int
    }

    private struct Entry {
        var loggedAt: MonotonicInstant?
        var seenAt: MonotonicInstant
        var pushes = 0
        var sent = 0
    }

    static let pause = Duration.seconds(30)
    /// A single device token may belong to another app. If this many fail and no push is sent, the topic is at fault.
    static let manyTokens = 10

    private var apps: [Int32: [Reason: Entry]] = [:]

    /// A claim of the app was settled.
    mutating func settled(
        _ refusals: [Settlement.TopicRefusal],
        sent: Int,
        of app: Int32,
        at now: MonotonicInstant
    ) -> [Item] {
        if refusals.isEmpty, apps[app] == nil { return [] }
        var entries = apps.removeValue(forKey: app) ?? [:]
        if sent > 0 {
            // Older refusals belong to another incident.
            entries = entries.filter { now - $0.value.seenAt < Self.pause }
            for reason in entries.keys { entries[reason]?.sent += sent }
        }
        var items: [Item] = []
        for refusal in refusals {
            var entry = entries[refusal.reason] ?? Entry(seenAt: now, sent: sent)
            entry.seenAt = now
            entry.pushes += refusal.pushes
            if refusal.mayBeToken, entry.sent > 0 {
                entry.pushes = 0
                entry.sent = 0
            }
            let isDue = entry.loggedAt.map { now - $0 >= Self.pause } ?? true
            if isDue, entry.pushes >= (refusal.mayBeToken ? Self.manyTokens : 1) {
                items.append(Item(refusal: refusal, pushes: entry.pushes, sent: entry.sent))
                entry = Entry(loggedAt: now, seenAt: now)
            }
            entries[refusal.reason] = entry
        }
        if !entries.isEmpty { apps[app] = entries }
        return items
    }
}

extension Settlement.TopicRefusal {
    /// The device token may be at fault.
    fileprivate var mayBeToken: Bool { reason.action(status: UInt16(status)) == .failToken }
}

import ApplePush
import IO

/// When to say that pushes of an app fail because of their topic, which is the fault of the app's settings and burns every
/// push until somebody mends them: at once, and then twice a minute for each app and reason while it goes on.
struct TopicNews: Sendable {
    struct Item: Equatable {
        let refusal: TopicRefusal
        /// How many have failed for this reason since it was told last.
        let pushes: Int
        /// How many pushes of the app were sent in the same time.
        let sent: Int
    }

    private struct Entry {
        var toldAt: MonotonicInstant?
        var heardAt: MonotonicInstant
        var pushes = 0
        var sent = 0
    }

    static let pause = Duration.seconds(30)
    /// A single device token may be that of another app. That so many are, and no push is sent, is the fault of the topic.
    static let manyTokens = 10

    /// There are few reasons, and so few entries an app.
    private var apps: [Int32: [Reason: Entry]] = [:]

    /// A claim of the app was settled: so many of its pushes were sent, and those failed because of their topic.
    mutating func settled(
        _ refusals: [TopicRefusal],
        sent: Int,
        of app: Int32,
        at now: MonotonicInstant
    ) -> [Item] {
        if refusals.isEmpty, apps[app] == nil { return [] }
        var entries = apps.removeValue(forKey: app) ?? [:]
        if sent > 0 {
            // What lies behind is another incident.
            entries = entries.filter { now - $0.value.heardAt < Self.pause }
            for reason in entries.keys { entries[reason]?.sent += sent }
        }
        var items: [Item] = []
        for refusal in refusals {
            var entry = entries[refusal.reason] ?? Entry(heardAt: now, sent: sent)
            entry.heardAt = now
            entry.pushes += refusal.pushes
            if refusal.mayBeToken, entry.sent > 0 {
                entry.pushes = 0
                entry.sent = 0
            }
            let isNews = entry.toldAt.map { now - $0 >= Self.pause } ?? true
            if isNews, entry.pushes >= (refusal.mayBeToken ? Self.manyTokens : 1) {
                items.append(Item(refusal: refusal, pushes: entry.pushes, sent: entry.sent))
                entry = Entry(toldAt: now, heardAt: now)
            }
            entries[refusal.reason] = entry
        }
        if !entries.isEmpty { apps[app] = entries }
        return items
    }
}

extension TopicRefusal {
    /// The device token may be to blame, and not the topic.
    fileprivate var mayBeToken: Bool { reason.action(status: UInt16(status)) == .failToken }
}

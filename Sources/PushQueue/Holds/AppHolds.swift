import IO

/// Apps that are in trouble, and when each may try again: soon at first, then more and more rarely, never in step.
///
/// When its time has come an app tries with one small claim. Only what the gateway answers ends the trouble.
struct AppHolds: Sendable {
    private struct Hold {
        var times = 0
        var until: MonotonicInstant
        var trouble: Trouble
    }

    static let shortest = Duration.seconds(1)
    static let longest = Duration.seconds(60)

    private var holds: [Int32: Hold] = [:]

    /// Each app in trouble.
    var troubles: [(app: Int32, trouble: Trouble)] { holds.map { ($0.key, $0.value.trouble) } }

    func isHeld(_ app: Int32, at now: MonotonicInstant) -> Bool { end(of: app, at: now) != nil }

    /// Until when it is held, if it is.
    func end(of app: Int32, at now: MonotonicInstant) -> MonotonicInstant? {
        guard let hold = holds[app], now < hold.until else { return nil }
        return hold.until
    }

    /// Whether it has yet to be shown that the trouble is over.
    func isOnTrial(_ app: Int32) -> Bool { holds[app] != nil }

    /// Something kept the app from sending. How long it is held for; nil: it was held already, so this is no news.
    mutating func hold(
        _ app: Int32,
        for trouble: Trouble,
        at now: MonotonicInstant,
        using generator: inout some RandomNumberGenerator
    ) -> Duration? {
        guard !isHeld(app, at: now) else { return nil }
        let times = holds[app].map { min($0.times + 1, 16) } ?? 0
        let wait = min(Self.longest, Self.shortest * (1 << times)) * Double.random(in: 0.5...1, using: &generator)
        holds[app] = Hold(times: times, until: now + wait, trouble: trouble)
        return wait
    }

    /// It was changed, and may try again at once.
    mutating func release(_ app: Int32) {
        holds[app]?.times = 0
        holds[app]?.until = MonotonicInstant(nanoseconds: 0)
    }

    /// It works. True: it had been in trouble.
    mutating func end(_ app: Int32) -> Bool {
        holds.removeValue(forKey: app) != nil
    }
}

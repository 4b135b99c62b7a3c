import CarillonIO

/// The apps that are held, and when each is tried again: within a second, then at growing intervals, with jitter. A try is
/// one small claim. An answer of the gateway ends the hold, and so does a change of the app or its credential.
struct AppHolds: Sendable {
    private struct Entry {
        var backOff = AppHolds.backOff
        var until = MonotonicInstant(nanoseconds: 0)
        /// Nil if the app's route has changed since: whether it can send is not known.
        var hold: Hold?
    }

    private static let backOff = BackOff(from: .seconds(1), to: .seconds(60))

    private var holds: [Int32: Entry] = [:]
    private var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    var all: [(app: Int32, hold: Hold)] { holds.compactMap { app, entry in entry.hold.map { (app, $0) } } }

    /// When the app may be tried, or nil if it may be tried now.
    func endTime(of app: Int32, at now: MonotonicInstant) -> MonotonicInstant? {
        guard let entry = holds[app], now < entry.until else { return nil }
        return entry.until
    }

    /// It is known why the app cannot send.
    func isHeld(_ app: Int32) -> Bool { holds[app]?.hold != nil }

    /// The app is held, or its route has changed since: its next claim shows whether it can send.
    func isOnProbation(_ app: Int32) -> Bool { holds[app] != nil }

    /// - Returns: How long the app is held, or nil if it was held already.
    mutating func hold(_ app: Int32, for hold: Hold, at now: MonotonicInstant) -> Duration? {
        guard endTime(of: app, at: now) == nil else { return nil }
        var backOff = holds[app]?.backOff ?? Self.backOff
        let wait = backOff.next(using: &random)
        holds[app] = Entry(backOff: backOff, until: now + wait, hold: hold)
        return wait
    }

    /// The app's route has changed: what was known of the old one no longer applies, and the app may be tried at once.
    /// Returns whether it was held.
    mutating func routeChanged(_ app: Int32) -> Bool {
        guard holds[app]?.hold != nil else { return false }
        holds[app] = Entry()
        // If the new route fails too, that is the second failure.
        holds[app]?.backOff.lengthen()
        return true
    }

    /// The app can send, or is gone.
    mutating func end(_ app: Int32) { holds[app] = nil }
}

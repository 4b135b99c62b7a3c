import CarillonPostgres

/// The counts of pushes, by app, that are not written yet.
struct UnwrittenCounts: Sendable {
    /// A statement writes the counts of so many apps at most, so that claims wait for it for milliseconds.
    static let maxApps = 256

    private var counts: [Int32: Settlement.Tally] = [:]
    /// The last ones could not be written.
    private var areRefused = false

    mutating func add(_ tally: Settlement.Tally, of app: Int32) {
        counts[app, default: Settlement.Tally()] += tally
    }

    /// Returns the counts to write next, and begins new ones of these apps.
    mutating func take() -> [Int32: Settlement.Tally] {
        var taken: [Int32: Settlement.Tally] = [:]
        while taken.count < Self.maxApps, let (app, tally) = counts.popFirst() { taken[app] = tally }
        return taken
    }

    mutating func written() { areRefused = false }

    mutating func failed(_ counts: [Int32: Settlement.Tally], _ effect: PostgresError.Effect) {
        areRefused = true
        guard effect == .nothingDone else { return }
        for (app, tally) in counts { add(tally, of: app) }
    }

    /// Most pushes of the app fail because of its settings, so the counts are written at once for the breaker: but for those that
    /// could not be written, which are tried once a second.
    func isSuspect(_ app: Int32) -> Bool {
        guard !areRefused, let counts = counts[app], counts.bad >= 100 else { return false }
        return counts.bad * 2 > counts.sent + counts.failed
    }
}

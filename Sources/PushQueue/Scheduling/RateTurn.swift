import IO

/// When the pushes of one claim may go out, by the fleet's timetable.
struct RateTurn: Sendable {
    /// How late they may go out: half of the longest turn. Later they would go out beside those that are on time.
    static let latest = Duration.milliseconds(50)

    let begins: MonotonicInstant

    init(in wait: Duration, from now: MonotonicInstant) { begins = now + wait }

    /// Too late for it: another one has to be taken.
    func isMissed(at now: MonotonicInstant) -> Bool { now - begins > Self.latest }
}

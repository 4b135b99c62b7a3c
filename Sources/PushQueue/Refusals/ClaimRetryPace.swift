import CarillonIO

/// When claims are made again after some that failed: at growing intervals of up to two seconds, with jitter, until one succeeds.
struct ClaimRetryPace: Sendable {
    private struct Wait {
        private var backOff = BackOff.statements
        private(set) var end: MonotonicInstant

        init(at now: MonotonicInstant) { end = now }

        /// Claims that were under way together fail together, which counts once.
        mutating func failed(at now: MonotonicInstant, using generator: inout some RandomNumberGenerator) {
            guard now >= end else { return }
            end = now + backOff.next(using: &generator)
        }
    }

    /// How long an idle lane is remembered: with many lanes, each waits long for its next try.
    private static let memory = Duration.seconds(600)

    /// All claims fail.
    private var all: Wait?
    private var lanes: [Lane: Wait] = [:]

    /// Whether anything may be claimed. While all claims fail, one at a time shows whether they succeed again.
    func mayClaim(at now: MonotonicInstant, isUnderWay: Bool) -> Bool {
        guard let all else { return true }
        return now >= all.end && !isUnderWay
    }

    func hasFailed(_ lane: Lane) -> Bool { !lanes.isEmpty && lanes[lane] != nil }

    /// When the lane may be claimed from, if not now.
    func end(of lane: Lane, at now: MonotonicInstant) -> MonotonicInstant? {
        guard !lanes.isEmpty, let end = lanes[lane]?.end, now < end else { return nil }
        return end
    }

    mutating func failed(
        _ lane: Lane,
        all allFail: Bool = false,
        at now: MonotonicInstant,
        using generator: inout some RandomNumberGenerator
    ) {
        lanes[lane, default: Wait(at: now)].failed(at: now, using: &generator)
        guard allFail else { return }
        var wait = all ?? Wait(at: now)
        wait.failed(at: now, using: &generator)
        all = wait
    }

    /// - Parameter hasRows: Without rows, a claim says nothing of the lane: its first row may have to be split.
    mutating func succeeded(_ lane: Lane, hasRows: Bool) {
        all = nil
        if hasRows, !lanes.isEmpty { lanes[lane] = nil }
    }

    mutating func forgetIdle(at now: MonotonicInstant) {
        if !lanes.isEmpty { lanes = lanes.filter { now - $0.value.end < Self.memory } }
    }
}

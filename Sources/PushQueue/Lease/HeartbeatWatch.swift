import IO

/// The heartbeats of the other workers, timed by this worker's own monotonic clock.
///
/// A worker is dead once its heartbeat has stood still for its whole lease, counted from the moment at which this worker
/// learned of that heartbeat. No clock of day is asked: setting the database's clock neither kills a worker nor keeps a
/// dead one alive.
struct HeartbeatWatch: Sendable {
    /// What a row of `workers` said.
    struct Sighting: Sendable {
        let worker: Int64
        /// Goes up by one with each heartbeat.
        let beat: Int64
        let lease: Duration
        /// By the database's clock its lease has run out: a hint, never a reason to take over.
        var looksDead = false
    }

    private struct Entry {
        var sighting: Sighting
        /// Since when the heartbeat is known to stand still.
        var since: MonotonicInstant
        /// A take-over was tried, and somebody had the row locked.
        var wasLocked = false

        var end: MonotonicInstant { since + sighting.lease }
    }

    private var entries: [Int64: Entry] = [:]

    /// The rows of all other workers were read; the answer was there at that instant.
    mutating func saw(_ sightings: [Sighting], at now: MonotonicInstant) {
        var entries: [Int64: Entry] = [:]
        for sighting in sightings {
            if var known = self.entries[sighting.worker], known.sighting.beat == sighting.beat {
                known.sighting = sighting
                entries[sighting.worker] = known
            } else {
                entries[sighting.worker] = Entry(sighting: sighting, since: now)
            }
        }
        self.entries = entries
    }

    /// The workers to take over from, as they were read last.
    func dead(at now: MonotonicInstant) -> [Sighting] {
        entries.values.filter { $0.end <= now }.map(\.sighting).sorted { $0.worker < $1.worker }
    }

    /// The earliest instant at which one of them may be dead.
    var nextEnd: MonotonicInstant? { entries.values.lazy.map(\.end).min() }

    /// A worker may turn out to be dead soon, which `worker --once` waits for.
    var hasSuspects: Bool { entries.values.contains { $0.sighting.looksDead && !$0.wasLocked } }

    /// It could not be taken over from: its row is locked, say, and its heartbeat may be waiting for that lock. It gets a
    /// third of its lease to show a heartbeat once the lock is gone.
    mutating func couldNotTakeOver(_ worker: Int64, at now: MonotonicInstant) {
        guard var entry = entries[worker] else { return }
        entry.since = max(entry.since, now + entry.sighting.lease * -2 / 3)
        entry.wasLocked = true
        entries[worker] = entry
    }

    /// No heartbeat got through for a while, not even this worker's own: every worker gets its whole lease to show one.
    mutating func restart(at now: MonotonicInstant) {
        for worker in entries.keys { entries[worker]?.since = now }
    }
}

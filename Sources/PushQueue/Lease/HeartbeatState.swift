import CarillonIO

/// The heartbeats of the other workers, timed by this worker's monotonic clock.
///
/// A worker is dead when its heartbeat has not changed for the length of its lease, as seen by this worker. So setting the
/// database's clock neither kills a worker nor keeps a dead one alive.
struct HeartbeatState: Sendable {
    /// A row of `workers`.
    struct Sighting: Sendable {
        let worker: Int64
        /// Goes up by one with each heartbeat.
        let beat: Int64
        let lease: Duration
        /// Its lease has expired by the database's clock, which alone is no reason to take over.
        var looksDead = false
    }

    private struct Entry {
        var sighting: Sighting
        /// When the heartbeat was first seen.
        var since: MonotonicInstant
        /// A takeover failed, perhaps because the row was locked.
        var wasLocked = false

        var end: MonotonicInstant { since + sighting.lease }
    }

    private var entries: [Int64: Entry] = [:]
    private var wasRead = false

    /// The rows of all other workers were read.
    mutating func saw(_ sightings: [Sighting], at now: MonotonicInstant) {
        wasRead = true
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

    func dead(at now: MonotonicInstant) -> [Sighting] {
        entries.values.filter { $0.end <= now }.map(\.sighting).sorted { $0.worker < $1.worker }
    }

    /// When the first of them may be dead.
    var nextEnd: MonotonicInstant? { entries.values.lazy.map(\.end).min() }

    /// A worker may be dead. `worker --once` does not end before that is known.
    var hasSuspects: Bool { !wasRead || entries.values.contains { $0.sighting.looksDead && !$0.wasLocked } }

    /// If its row is locked, its heartbeat waits for the lock too. After each attempt to take over its claims, it has a third of its
    /// lease to send one.
    mutating func couldNotTakeOver(_ worker: Int64, at now: MonotonicInstant) {
        guard var entry = entries[worker] else { return }
        entry.since = max(entry.since, now + entry.sighting.lease * -2 / 3)
        entry.wasLocked = true
        entries[worker] = entry
    }

    /// This worker's own heartbeats failed for a while, so those of others may have too. Every lease begins again.
    mutating func restart(at now: MonotonicInstant) {
        for worker in entries.keys { entries[worker]?.since = now }
    }
}

import CarillonIO

/// When the worker looks, falls asleep and wakes.
extension WorkerState {
    /// Whether to ask for sleep now that a wait has ended, or the worker was called. Otherwise it looks.
    mutating func asks(at now: MonotonicInstant) -> Bool {
        if let since = sleep.asleepSince {
            // There was no sweep meanwhile.
            if now - since >= SleepState.floorMemory { forgetFloors() }
            return sleep.asksAgain(at: now)
        }
        guard hasNothingToDo(at: now), sleep.mustAsk(at: now) else { return false }
        sleep.fellAsleep(until: holdEnd(at: now), at: now)
        return true
    }

    /// When an app whose rows wait can be tried again.
    func holdEnd(at now: MonotonicInstant) -> MonotonicInstant? {
        unsendable.compactMap { holds.endTime(of: $0, at: now) }.min()
    }

    /// Nothing but PostgreSQL can bring work. Counts of pushes and notes are written in its sleep too.
    private func hasNothingToDo(at now: MonotonicInstant) -> Bool {
        phase == .working && !options.once && reconnection.isConnected && schedule.isIdle && !maintenance.isAtWork
            && !maintenance.isReadingLegacyFeedback && !unsendable.contains { mayBeTried($0, at: now) }
    }

    /// A claim is about to show whether the app can send again.
    func mayBeTried(_ id: Int32, at now: MonotonicInstant) -> Bool {
        guard let app = apps[id], !app.row.isPaused, case .success = app.route else { return false }
        return holds.endTime(of: id, at: now) == nil
    }

    /// `carillon.fall_asleep` has returned.
    /// - Returns: The wait before the next step, and the workers that are dead.
    mutating func sleepReturned(
        _ rows: SleepRows,
        askedAt: MonotonicInstant,
        at now: MonotonicInstant
    ) -> (wait: Duration, dead: [HeartbeatState.Sighting]) {
        // It may be below a floor.
        if rows.hasWork { forgetFloors() }
        let wait = sleep.returned(rows, after: now - askedAt, at: now)
        guard rows.isAlive == true else { return (wait, []) }
        lease.slept(askedAt: askedAt, upTo: sleep.lease)
        return (wait, lease.saw(rows.others, at: now))
    }

    /// The wait before the next heartbeat. A sleeper sends none.
    func heartbeatWait(at now: MonotonicInstant) -> Duration {
        sleep.isAwake ? lease.heartbeatWait(at: now) : lease.interval
    }
}

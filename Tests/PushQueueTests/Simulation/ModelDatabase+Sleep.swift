@testable import CarillonPushQueue

/// How workers sleep, and who notifies them.
extension ModelDatabase {
    /// Transactions that bring work notify the workers.
    var isNotifying: Bool { asleepUntil > now }

    /// How many rows there are that bring work.
    var arrivals: (messages: Int, scheduled: Int) { (tables.messages.count, tables.scheduled.count) }

    /// Rows have come to a table since there were so many.
    func hasGrown(since before: (messages: Int, scheduled: Int)) -> Bool {
        tables.messages.count > before.messages || tables.scheduled.count > before.scheduled
    }

    private func isAnotherAwake(but worker: Int64) -> Bool {
        tables.workers.contains { $0.key != worker && !$0.value.isAsleep }
    }

    /// `carillon.fall_asleep`.
    mutating func fallAsleep(
        _ worker: Int64,
        lease: Int64,
        waitsFor: [String]?,
        skipping skipped: Set<Int32>,
        tasks: [MaintenanceTask.Name],
        _ interval: Int64
    ) -> SleepAnswer {
        var answer = SleepAnswer()
        let wasAsleep = tables.workers[worker]?.isAsleep ?? false
        if !wasAsleep {
            answer.hasWork = hasWork(for: worker, skipping: skipped, tasks, interval)
            if answer.hasWork { return answer }
        }
        answer.isAlive = heartbeat(worker, lease: lease) != nil
        guard answer.isAlive == true else { return answer }
        change { tables in
            if tables.workers[worker] != nil { tables.workers[worker]?.isAsleep = true }
        }
        answer.othersAreAwake = isAnotherAwake(but: worker)
        if answer.othersAreAwake {
            answer.holders = nil
        } else {
            answer.holders = (isNotifying ? waitsFor : nil)?.filter(holders.contains) ?? holders.sorted()
            asleepUntil = now + 90_000_000
        }
        answer.hasWork = hasWork(for: worker, skipping: skipped, tasks, interval)
        answer.dueIn = tables.dates.values.min().map { .microseconds(max(0, $0 - now)) }
        answer.others = heartbeats(butOf: worker)
        return answer
    }

    private func hasWork(
        for worker: Int64,
        skipping skipped: Set<Int32>,
        _ tasks: [MaintenanceTask.Name],
        _ interval: Int64
    ) -> Bool {
        let isTaskDue = tasks.contains { task in
            tables.fleetTasks[task]?.heldBy != worker && isDue(task, every: interval, for: worker)
        }
        return isTaskDue || tables.dates.values.contains { $0 <= now }
            || tables.inflight.values.contains { $0.worker == worker } || hasOrphans
            || tables.messages.values.contains { !skipped.contains($0.app) }
    }
}

@testable import CarillonPushQueue

/// Tasks that one worker of the fleet does at a time, and feedback passes.
extension ModelDatabase {
    func isDue(_ task: MaintenanceTask.Name, every interval: Int64?, for worker: Int64) -> Bool {
        let row = tables.fleetTasks[task] ?? ModelFleetTask()
        let began = row.nextRun - row.every
        guard let holder = row.heldBy else {
            return row.nextRun <= now || began + (interval ?? row.every) <= now || began > now
        }
        return holder == worker || tables.workers[holder] == nil
    }

    mutating func take(_ task: MaintenanceTask.Name, every interval: Int64?, for worker: Int64) -> Bool {
        guard isDue(task, every: interval, for: worker) else { return false }
        let now = self.now
        change { tables in
            let every = interval ?? tables.fleetTasks[task]?.every ?? ModelFleetTask().every
            tables.fleetTasks[task] = ModelFleetTask(nextRun: now + every, every: every, heldBy: worker)
        }
        return true
    }

    mutating func end(_ task: MaintenanceTask.Name, of worker: Int64) {
        change { tables in
            if tables.fleetTasks[task]?.heldBy == worker { tables.fleetTasks[task]?.heldBy = nil }
        }
    }

    /// Registers a device token, possibly again.
    mutating func register(_ token: String) {
        let now = self.now
        change { $0.tokens[token] = now }
    }

    /// One batch of a feedback pass. The tokens that it deletes are for the audit.
    mutating func reap(after place: String?) -> (batch: ReapBatch, deleted: [String]) {
        change { tables in
            let app = place.flatMap { Int32($0) } ?? 1
            let mine = tables.feedback.filter { $0.app == app }
            let taken = mine.prefix(4)
            var deleted: [String] = []
            for dead in taken {
                if let registered = tables.tokens[dead.token], registered < dead.unregisteredAt {
                    tables.tokens[dead.token] = nil
                    deleted.append(dead.token)
                }
            }
            tables.feedback.removeAll { taken.contains($0) }
            let next = taken.count < mine.count ? app : app + 1
            let batch = ReapBatch(
                state: next > 2 ? .over : .more,
                next: "\(next)",
                app: "app \(app)",
                handled: taken.count,
                deleted: deleted.count,
                faults: []
            )
            return (batch, deleted)
        }
    }
}

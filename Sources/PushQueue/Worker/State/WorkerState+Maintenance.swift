import IO

/// When to look whether there is maintenance to do.
extension WorkerState {
    /// After a task that failed, nobody tries again before this is over.
    private static let waitAfterFailure = Duration.seconds(60)
    private static let longestWait = Duration.seconds(2)

    mutating func maintenanceWait() -> Duration {
        self.options.lease / 3 * Double.random(in: 0.8...1.2, using: &self.random)
    }

    mutating func maintenanceWait(for task: MaintenanceTask.Name) -> Duration {
        self.begunTasks.contains(task) ? Self.waitAfterFailure : self.maintenanceWait()
    }

    /// Nil: it never runs one.
    mutating func feedbackWait() -> Duration? {
        let interval = self.options.feedbackInterval
        guard interval > .zero, !self.options.once else { return nil }
        let wait = self.begunTasks.contains(.feedback) ? Self.waitAfterFailure : Self.longestWait
        return min(wait, interval / 2) * Double.random(in: 0.8...1.2, using: &self.random)
    }

    /// What was read is written as soon as there is a database again.
    var feedbackListWait: Duration? {
        self.options.once ? nil : self.isReadingFeedback ? .milliseconds(500) : Self.longestWait
    }

    /// It has failed unless it is heard to have ended.
    mutating func began(_ task: MaintenanceTask.Name) { self.begunTasks.insert(task) }
    mutating func ended(_ task: MaintenanceTask.Name) { self.begunTasks.remove(task) }
}

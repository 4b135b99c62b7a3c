import CarillonIO

/// When to check whether maintenance is due.
extension WorkerState {
    private static let waitAfterFailure = Duration.seconds(60)
    private static let longestWait = Duration.seconds(2)

    mutating func maintenanceWait() -> Duration {
        options.lease / 3 * Double.random(in: 0.8...1.2, using: &random)
    }

    mutating func maintenanceWait(for task: MaintenanceTask.Name) -> Duration {
        begunTasks.contains(task) ? Self.waitAfterFailure : maintenanceWait()
    }

    /// Nil: it never runs one.
    mutating func feedbackWait() -> Duration? {
        let interval = options.feedbackInterval
        guard interval > .zero, !options.once else { return nil }
        let wait = begunTasks.contains(.feedback) ? Self.waitAfterFailure : Self.longestWait
        return min(wait, interval / 2) * Double.random(in: 0.8...1.2, using: &random)
    }

    /// Entries that were read are written soon after the connection is back.
    var feedbackListWait: Duration? {
        options.once ? nil : isReadingFeedback ? .milliseconds(500) : Self.longestWait
    }

    /// A request for a channel is answered soon, while somebody may wait for it; not so after a failure.
    var channelWait: Duration? {
        if options.once { return triedTasks.contains(.channels) ? nil : .zero }
        return begunTasks.contains(.channels) ? Self.waitAfterFailure : .seconds(1)
    }

    /// With `once`, channels that were requested are made before the worker ends.
    var isDoneOnce: Bool { options.once && triedTasks.contains(.channels) }

    /// Counts as failed until it reports completion.
    mutating func began(_ task: MaintenanceTask.Name) { begunTasks.insert(task) }
    mutating func ended(_ task: MaintenanceTask.Name) { begunTasks.remove(task) }
}

import CarillonIO

/// When to check whether maintenance is due.
struct MaintenanceState: Sendable {
    private static let waitAfterFailure = Duration.seconds(60)
    private static let longestWait = Duration.seconds(2)
    private static let sweepInterval = Duration.seconds(5)

    private let options: WorkerOptions
    private(set) var isReadingLegacyFeedback = false
    /// Tasks begun and not finished since. They count as failed.
    private(set) var unfinished: Set<MaintenanceTask.Name> = []
    private var underWay: Set<MaintenanceTask.Name> = []
    private var triedChannels = false
    /// How long the latest sweep took.
    private var sweepCost = Duration.zero
    private var random: SeededGenerator

    init(_ options: WorkerOptions, seed: UInt64) {
        self.options = options
        random = SeededGenerator(seed: seed)
    }

    /// The task is looked at, and runs if it is due.
    mutating func began(_ task: MaintenanceTask.Name) {
        underWay.insert(task)
        unfinished.insert(task)
    }
    /// The task is done, or was not due.
    mutating func finished(_ task: MaintenanceTask.Name) { unfinished.remove(task) }
    /// What was begun is over, finished or not.
    mutating func ended(_ task: MaintenanceTask.Name) {
        underWay.remove(task)
        if task == .channels { triedChannels = true }
    }
    /// Reading of legacy feedback lists has begun or ended.
    mutating func reads(legacyFeedback isUnderWay: Bool) { isReadingLegacyFeedback = isUnderWay }
    mutating func swept(in cost: Duration) { sweepCost = cost }

    // MARK: Sleep

    var isAtWork: Bool { !underWay.isEmpty }

    /// What a sleeper wakes for when it is due: tasks in `fleet_tasks`, and requests for channels. A task that has failed here is
    /// repeated after a while instead.
    var awaited: [(name: String, interval: Duration?)] {
        var tasks: [MaintenanceTask.Name] = [.maintain, .channelLists, .channels]
        if options.feedbackInterval > .zero { tasks.append(.feedback) }
        tasks.removeAll { unfinished.contains($0) }
        return tasks.map { ($0.rawValue, $0 == .feedback ? options.feedbackInterval : nil) }
    }

    // MARK: Waits

    /// The wait before a task is looked at again.
    mutating func wait() -> Duration { options.lease / 3 * Double.random(in: 0.8...1.2, using: &random) }

    mutating func wait(for task: MaintenanceTask.Name) -> Duration {
        unfinished.contains(task) ? Self.waitAfterFailure : wait()
    }

    /// Nil if it never runs one.
    mutating func feedbackWait() -> Duration? {
        let interval = options.feedbackInterval
        guard interval > .zero, !options.once else { return nil }
        let wait =
            unfinished.contains(.feedback)
            ? min(Self.waitAfterFailure, max(interval / 2, Self.longestWait)) : min(Self.longestWait, interval / 2)
        return wait * Double.random(in: 0.8...1.2, using: &random)
    }

    /// Entries that were read are written soon after the connection is back.
    var legacyFeedbackWait: Duration? {
        options.once ? nil : isReadingLegacyFeedback ? .milliseconds(500) : Self.longestWait
    }

    /// A request for a channel is answered soon, while somebody may wait for it; not so after a failure.
    var channelWait: Duration? {
        if options.once { return triedChannels ? nil : .zero }
        return unfinished.contains(.channels) ? Self.waitAfterFailure : .seconds(1)
    }

    /// A sweep walks over all dead entries and may take a twentieth of the time.
    var sweepWait: Duration { max(Self.sweepInterval, sweepCost * 20) }

    /// With `once`, channels that were requested are made before the worker ends.
    var isDoneOnce: Bool { options.once && triedChannels }
}

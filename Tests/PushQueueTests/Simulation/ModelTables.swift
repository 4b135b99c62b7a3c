@testable import CarillonPushQueue

/// The tables of a database, and the next ids.
struct ModelTables: Equatable {
    var messages: [Int64: ModelJob] = [:]
    var scheduled: [Int64: ModelJob] = [:]
    /// When each scheduled job is due.
    var dates: [Int64: Int64] = [:]
    var inflight: [Int64: ModelClaim] = [:]
    var workers: [Int64: ModelWorker] = [:]
    var unfinished: [Int64: ModelProgress] = [:]
    /// Messages that were cancelled while in flight.
    var cancelled: Set<Int64> = []
    /// The updates of each token that are not sent yet.
    var updates: [String: [Int64: ModelUpdate]] = [:]
    var stamps: [String: ModelStamp] = [:]
    var slots: [String: [ModelSlot]] = [:]
    var results: [ModelProgress] = []
    var failures: [ModelFailure] = []
    /// When the next turn of each app with a rate begins.
    var turns: [Int32: Int64] = [:]
    /// The counts of each app since its breaker opened last.
    var activity: [Int32: ModelActivity] = [:]
    var fleetTasks: [MaintenanceTask.Name: ModelFleetTask] = [:]
    /// When each device token was registered last.
    var tokens: [String: Int64] = [:]
    var feedback: [ModelFeedback] = []
    /// Messages for which a user's constraint refuses all failures with a reason of Apple's.
    var unwritable: Set<Int64> = []
    /// How often each push was recorded as sent. `results.sent` has only their sum.
    var sent: [ModelPush: Int] = [:]

    private var nextMessage: Int64 = 1
    private var nextClaim: Int64 = 1
    private var nextWorker: Int64 = 1

    /// Nothing is left to do.
    var isDrained: Bool {
        messages.isEmpty && scheduled.isEmpty && inflight.isEmpty && unfinished.isEmpty
    }

    mutating func messageID() -> Int64 {
        defer { nextMessage += 1 }
        return nextMessage
    }

    mutating func claimID() -> Int64 {
        defer { nextClaim += 1 }
        return nextClaim
    }

    mutating func workerID() -> Int64 {
        defer { nextWorker += 1 }
        return nextWorker
    }

    /// A heartbeat. Returns how many workers there are, or nil if this one was declared dead.
    mutating func renew(_ worker: Int64, lease: Int64, isAsleep: Bool, at now: Int64) -> Int? {
        guard var row = workers[worker] else { return nil }
        row.beat += 1
        (row.lease, row.leaseUntil) = (lease, now + lease)
        row.isAsleep = isAsleep
        workers[worker] = row
        return workers.count
    }

    // MARK: Progress

    /// Counts the ended pushes of messages that end in several steps. `returned` is how many pushes remain, at the first step of a
    /// message.
    mutating func progress(_ steps: [(step: ModelProgress, returned: Int)]) {
        for (step, returned) in steps {
            let ended = step.sent + step.failed + step.expired
            var known = unfinished[step.message] ?? ModelProgress(message: step.message, app: step.app)
            known.remaining += returned > 0 ? returned : -ended
            known.sent += step.sent
            known.failed += step.failed
            known.expired += step.expired
            known.attempts = max(known.attempts, step.attempts)
            known.uniqueIDs.merge(step.uniqueIDs) { _, new in new }
            unfinished[step.message] = known
        }
        for message in Set(steps.map(\.step.message)).sorted() { finish(message) }
    }

    private mutating func finish(_ message: Int64) {
        guard var known = unfinished[message], known.remaining <= 0 else { return }
        unfinished[message] = nil
        known.remaining = 0
        results.append(known)
    }

    /// Records jobs as cancelled.
    mutating func cancel(_ jobs: [ModelJob]) {
        forgetUpdates(jobs)
        for message in Set(jobs.map(\.message)).sorted() {
            let parts = jobs.filter { $0.message == message }
            let tokens = parts.reduce(0) { $0 + $1.tokens.count }
            if unfinished[message] == nil {
                var result = ModelProgress(message: message, app: parts[0].app)
                result.cancelled = tokens
                result.attempts = (parts.map(\.attempt).max() ?? 1) - 1
                results.append(result)
            } else {
                unfinished[message]?.remaining -= tokens
                unfinished[message]?.cancelled += tokens
                finish(message)
            }
        }
    }

    /// Cuts a job that is in no table into jobs of at most that many tokens.
    mutating func cut(_ whole: ModelJob, size: Int) -> Int {
        if whole.origin == nil {
            var known = ModelProgress(message: whole.id, app: whole.app)
            known.remaining = whole.tokens.count
            known.attempts = whole.attempt - 1
            unfinished[whole.id] = known
        }
        var pieces = 0
        for start in stride(from: 0, to: whole.tokens.count, by: size) {
            var piece = whole
            piece.id = messageID()
            piece.origin = whole.message
            piece.tokens = Array(whole.tokens[start..<min(start + size, whole.tokens.count)])
            messages[piece.id] = piece
            pieces += 1
        }
        return pieces
    }
}

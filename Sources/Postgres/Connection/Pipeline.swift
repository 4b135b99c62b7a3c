/// What waits for its turn and what is in flight, in the order in which it was asked for.
///
/// Several statements fly together. A script needs the session to itself: it starts when all before it have landed, and
/// nothing after it starts before it has.
struct Pipeline<Job> {
    enum Kind: Sendable {
        case statement
        case script
    }

    /// Enough to hide the way to the server and back. What is above it is surely not sent when the connection breaks.
    /// May shrink, which those in flight do not feel.
    var limit: Int
    private var waiting = Fifo<(Kind, Job)>()
    private var inFlight = Fifo<Job>()
    private(set) var isRunningScript = false

    init(limit: Int) {
        self.limit = limit
    }

    /// The one whose answer the server sends now.
    var current: Job? {
        get { inFlight.first }
        set { inFlight.first = newValue }
    }

    /// The one that departed last.
    var last: Job? {
        get { inFlight.last }
        set { inFlight.last = newValue }
    }

    mutating func enqueue(_ kind: Kind, _ job: Job) {
        waiting.append((kind, job))
    }

    /// The next one that may be sent now; it is in flight from here on.
    mutating func depart() -> Job? {
        guard let (kind, job) = waiting.first, !isRunningScript else { return nil }
        switch kind {
        case .statement:
            guard inFlight.count < limit else { return nil }
        case .script:
            guard inFlight.isEmpty else { return nil }
            isRunningScript = true
        }
        _ = waiting.popFirst()
        inFlight.append(job)
        return job
    }

    /// The current one has its answer.
    mutating func landed() -> Job? {
        isRunningScript = false
        return inFlight.popFirst()
    }

    /// Everything ends: those that were sent, and those that never were.
    mutating func takeAll() -> (sent: [Job], unsent: [Job]) {
        var sent: [Job] = []
        var unsent: [Job] = []
        while let job = inFlight.popFirst() { sent.append(job) }
        while let (_, job) = waiting.popFirst() { unsent.append(job) }
        isRunningScript = false
        return (sent, unsent)
    }
}

import IO

/// The statements that wait and those that were sent, in the order in which they were asked for.
///
/// Several statements are sent without waiting for answers. A script needs the session to itself: it is sent when all before
/// it are answered, and nothing after it is sent before it is.
struct Pipeline<Job> {
    enum Kind: Sendable {
        case statement
        case script
    }

    /// How many are sent ahead: enough to hide the round trip. What is above it was surely not sent when the connection
    /// breaks. It may shrink while statements are in flight.
    var limit: Int
    private var waiting = Fifo<(Kind, Job)>()
    private var inFlight = Fifo<Job>()
    private(set) var isRunningScript = false

    init(limit: Int) { self.limit = limit }

    /// The one that the server answers now.
    var current: Job? {
        get { inFlight.first }
        set { inFlight.first = newValue }
    }

    /// The one that was sent last.
    var last: Job? {
        get { inFlight.last }
        set { inFlight.last = newValue }
    }

    mutating func enqueue(_ kind: Kind, _ job: Job) { waiting.append((kind, job)) }

    /// The next one that may be sent now, which then counts as sent.
    mutating func nextToSend() -> Job? {
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

    /// The current one is answered.
    mutating func completed() -> Job? {
        isRunningScript = false
        return inFlight.popFirst()
    }

    /// Removes all, and returns apart those that were sent.
    mutating func takeAll() -> (sent: [Job], unsent: [Job]) {
        var sent: [Job] = []
        var unsent: [Job] = []
        while let job = inFlight.popFirst() { sent.append(job) }
        while let (_, job) = waiting.popFirst() { unsent.append(job) }
        isRunningScript = false
        return (sent, unsent)
    }
}

import CarillonIO

/// The life of a connection to a gateway as a value: what happened goes in, what became of it can be read.
struct ConnectionLife {
    enum Phase: Equatable {
        case connecting
        /// The TLS handshake is done; the gateway is not ready for pushes yet.
        case opening
        /// Takes pushes.
        case ready
        /// Takes no more pushes, and waits for the answers of those in flight.
        case draining(ConnectionEnd)
        case closed(ConnectionEnd)
    }

    struct Limits {
        /// How long the gateway may accept no bytes.
        var writing: Duration
        /// How long the connection lives. Not the same for all, or all of a pool would end together.
        var age: Duration
        /// How many pushes in a row may go unanswered.
        var lateAnswers = 3
    }

    private(set) var phase = Phase.connecting
    private let limits: Limits
    private var writing: Deadline
    private var connectedAt = MonotonicInstant.distantFuture
    private var oldAt = MonotonicInstant.distantFuture
    private var lateInARow = 0
    /// It should end when another has taken its place.
    private(set) var isOld = false
    /// How many pushes got an answer that was about them, and not about the connection or the credential.
    private(set) var answered = 0

    init(_ limits: Limits) {
        self.limits = limits
        writing = Deadline(limits.writing, .stalled)
    }

    // MARK: What it is

    var isReady: Bool { phase == .ready }

    var isClosed: Bool { if case .closed = phase { true } else { false } }

    /// Why it takes no more pushes, once it does not.
    var end: ConnectionEnd? {
        switch phase {
        case .draining(let end), .closed(let end): end
        case .connecting, .opening, .ready: nil
        }
    }

    func age(at now: MonotonicInstant) -> Duration { now - connectedAt }

    /// When `passed` must be called, if nothing happens before.
    var due: MonotonicInstant { isClosed ? .distantFuture : min(writing.due, isOld ? .distantFuture : oldAt) }

    // MARK: What happened

    mutating func connected(at now: MonotonicInstant) {
        guard phase == .connecting else { return }
        phase = .opening
        connectedAt = now
        oldAt = now + limits.age
    }

    /// The gateway is ready for pushes.
    mutating func opened() {
        if phase == .opening { phase = .ready }
    }

    /// Bytes were written. Stalled: the gateway did not accept all of them.
    mutating func wrote(isStalled: Bool, at now: MonotonicInstant) { writing.run(isStalled, since: now) }

    /// A push was answered.
    mutating func wasAnswered(isOfUse: Bool) {
        if isOfUse { answered += 1 }
        lateInARow = 0
    }

    /// A push was not answered in time. After several in a row, the gateway is taken to be silent.
    mutating func wasLate() {
        lateInARow += 1
        if lateInARow >= limits.lateAnswers { retire(.silent) }
    }

    /// No more pushes: those in flight may still be answered.
    mutating func retire(_ end: ConnectionEnd) {
        switch phase {
        case .connecting, .opening, .ready: phase = .draining(end)
        case .draining, .closed: break
        }
    }

    /// It is over. The reason why it was retired, if it was, stays.
    mutating func close(_ end: ConnectionEnd) {
        if !isClosed { phase = .closed(self.end ?? end) }
    }

    mutating func passed(to now: MonotonicInstant) {
        if writing.isOver(at: now) { close(writing.end) }
        if now >= oldAt { isOld = true }
    }
}

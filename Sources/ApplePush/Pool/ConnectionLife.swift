import CarillonIO

/// The life of a connection to a gateway, as a value: events go in, and the resulting state can be read.
struct ConnectionLife {
    enum Phase: Equatable {
        case connecting
        /// The TLS handshake is complete; the gateway is not ready for pushes yet.
        case opening
        /// Accepts pushes.
        case ready
        /// Accepts no more pushes, and waits for the answers to those in flight.
        case draining(ConnectionEnd)
        case closed(ConnectionEnd)
    }

    /// How many pushes in a row may go unanswered.
    private static let lateAnswerLimit = 3

    private(set) var phase = Phase.connecting
    private let maximumAge: Duration
    private var writing: Deadline
    private var connectedAt = MonotonicInstant.distantFuture
    private var oldAt = MonotonicInstant.distantFuture
    private var lateInARow = 0
    /// Whether it should end once another connection has taken its place.
    private(set) var isOld = false
    /// How many pushes got an answer about the push itself, not about the connection or the credential.
    private(set) var answered = 0

    /// - Parameters:
    ///   - writeTimeout: how long the gateway may accept no bytes.
    ///   - maximumAge: differs between connections, so that those of a pool do not all end together.
    init(writeTimeout: Duration, maximumAge: Duration) {
        self.maximumAge = maximumAge
        writing = Deadline(writeTimeout, .stalled)
    }

    // MARK: What it is

    var isReady: Bool { phase == .ready }

    var isClosed: Bool { if case .closed = phase { true } else { false } }

    /// Why it accepts no more pushes; nil while it does.
    var end: ConnectionEnd? {
        switch phase {
        case .draining(let end), .closed(let end): end
        case .connecting, .opening, .ready: nil
        }
    }

    func age(at now: MonotonicInstant) -> Duration { now - connectedAt }

    /// When `passed` must next be called, if nothing happens before.
    var due: MonotonicInstant { isClosed ? .distantFuture : min(writing.due, isOld ? .distantFuture : oldAt) }

    // MARK: What happened

    mutating func connected(at now: MonotonicInstant) {
        guard phase == .connecting else { return }
        phase = .opening
        connectedAt = now
        oldAt = now + maximumAge
    }

    /// The gateway is ready for pushes.
    mutating func opened() {
        if phase == .opening { phase = .ready }
    }

    /// Bytes were written. `isStalled` means that the gateway did not accept all of them.
    mutating func wrote(isStalled: Bool, at now: MonotonicInstant) { writing.run(isStalled, since: now) }

    /// A push was answered.
    mutating func wasAnswered(isOfUse: Bool) {
        if isOfUse { answered += 1 }
        lateInARow = 0
    }

    /// A push was not answered in time. After several in a row, the gateway counts as silent.
    mutating func wasLate() {
        lateInARow += 1
        if lateInARow >= Self.lateAnswerLimit { retire(.silent) }
    }

    /// The connection accepts no more pushes. Those in flight may still be answered.
    mutating func retire(_ end: ConnectionEnd) {
        switch phase {
        case .connecting, .opening, .ready: phase = .draining(end)
        case .draining, .closed: break
        }
    }

    /// The connection is closed. If it had been retired, that reason is kept.
    mutating func close(_ end: ConnectionEnd) {
        if !isClosed { phase = .closed(self.end ?? end) }
    }

    mutating func passed(to now: MonotonicInstant) {
        if writing.isOver(at: now) { close(writing.end) }
        if now >= oldAt { isOld = true }
    }
}

import IO

/// The life of a connection to the gateway as a value: what happened to it goes in, what must be done comes out.
struct ConnectionLife {
    /// Where in its life a connection is.
    enum Phase: Equatable {
        /// The way to the server is being made.
        case connecting
        /// Both sides have proved who they are; the server has not named its settings yet.
        case handshaking
        /// Takes pushes.
        case ready
        /// Takes no more pushes, and waits for the answers of those in flight.
        case draining(ConnectionEnd)
        /// Over.
        case closed(ConnectionEnd)
    }

    /// What the owner of the socket must do.
    enum Action: Equatable {
        case none
        case ping
        /// End every push in flight, and close.
        case close
    }

    /// The times and numbers that a connection is measured by. How long a connection and a handshake may take is for
    /// those to keep who make them.
    struct Limits {
        /// How long the server may take to name its settings.
        var settings: Duration
        /// How long it may take to acknowledge ours.
        var acknowledgement: Duration
        /// After how long a silence it is asked whether it is there.
        var pingAfter: Duration
        /// How long its answer to that may take.
        var ping: Duration
        /// For how long it may take no bytes.
        var writing: Duration
        /// For how long it may have no stream for anybody, or open no window for what waits.
        var starvation: Duration
        /// How long the connection lives. Not the same for all, or all of a pool would end together.
        var age: Duration
        /// How many pushes in a row may go without an answer.
        var lateAnswers = 3
        /// From which number on streams are a reason to begin again with the first.
        var highestStream: Int32 = 1 << 30
    }

    private(set) var phase = Phase.connecting
    private let limits: Limits
    private var since: MonotonicInstant
    private(set) var lastHeard: MonotonicInstant
    private var pinged: MonotonicInstant?
    private var unacknowledgedSince: MonotonicInstant?
    private var stalledSince: MonotonicInstant?
    private var starvedSince: MonotonicInstant?
    private var heldSince: MonotonicInstant?
    private var bytesWhenHeld: UInt64 = 0
    private var lateInARow = 0

    /// Has lived for long enough: it should go when another has taken its place.
    private(set) var isOld = false

    /// How many pushes got an answer that was about them, and not about the connection or the credential.
    private(set) var answered = 0

    init(_ limits: Limits, at now: MonotonicInstant) {
        self.limits = limits
        since = now
        lastHeard = now
    }

    // MARK: What it is

    var isReady: Bool { phase == .ready }

    var isClosed: Bool { if case .closed = phase { true } else { false } }

    /// Why it takes no more pushes, once it does not.
    var end: ConnectionEnd? {
        switch phase {
        case .draining(let end), .closed(let end): end
        case .connecting, .handshaking, .ready: nil
        }
    }

    /// Nobody knows whether the server is still there: it was asked and has not answered yet.
    var isInDoubt: Bool { pinged != nil }

    /// When it must be looked at next, if nothing happens to it before.
    func due(inFlight: Int) -> MonotonicInstant {
        switch phase {
        case .connecting, .closed: return .distantFuture
        case .handshaking: return self.since + limits.settings
        case .ready, .draining: break
        }
        var due = isOld ? .distantFuture : self.since + limits.age
        if let pinged = self.pinged {
            due = min(due, pinged + limits.ping)
        } else if inFlight > 0 {
            due = min(due, lastHeard + limits.pingAfter)
        }
        if let since = stalledSince { due = min(due, since + limits.writing) }
        if isReady {
            if let since = unacknowledgedSince { due = min(due, since + limits.acknowledgement) }
            if let since = starvedSince { due = min(due, since + limits.starvation) }
            if let since = heldSince { due = min(due, since + limits.starvation) }
        }
        return due
    }

    // MARK: What happened

    /// The way to the server is made; our settings go out with the first bytes.
    mutating func connected(at now: MonotonicInstant) {
        guard phase == .connecting else { return }
        phase = .handshaking
        since = now
        lastHeard = now
        unacknowledgedSince = now
    }

    /// The server named its settings.
    mutating func settled() {
        if phase == .handshaking { phase = .ready }
    }

    /// The server took note of ours.
    mutating func acknowledged() { unacknowledgedSince = nil }

    /// Something came from the server.
    mutating func heard(at now: MonotonicInstant) {
        lastHeard = now
        pinged = nil
    }

    /// A stream of that number was opened.
    mutating func opened(_ stream: Int32) {
        if stream >= limits.highestStream { retire(.exhausted) }
    }

    /// Whether the server takes the bytes that there are.
    mutating func wrote(isStalled: Bool, at now: MonotonicInstant) {
        stalledSince = isStalled ? stalledSince ?? now : nil
    }

    /// Whether the server has streams, be they in use or not.
    mutating func offered(nothing isStarved: Bool, at now: MonotonicInstant) {
        starvedSince = isStarved ? starvedSince ?? now : nil
    }

    /// Whether windows hold bodies back, of which so many bytes have gone out so far: each byte is progress.
    mutating func held(back isHeld: Bool, after bytes: UInt64, at now: MonotonicInstant) {
        if !isHeld {
            heldSince = nil
        } else if heldSince == nil || bytes != bytesWhenHeld {
            heldSince = now
            bytesWhenHeld = bytes
        }
    }

    /// A push was answered.
    mutating func wasAnswered(isOfUse: Bool) {
        if isOfUse { answered += 1 }
        lateInARow = 0
    }

    /// A push was not answered in time. A server that does so again and again does not answer at all any more.
    mutating func wasLate() {
        lateInARow += 1
        if lateInARow >= limits.lateAnswers { retire(.silent) }
    }

    /// No more pushes: what is in flight may still be answered. The first reason is the one that stays.
    mutating func retire(_ end: ConnectionEnd) {
        switch phase {
        case .connecting, .handshaking, .ready: phase = .draining(end)
        case .draining, .closed: break
        }
    }

    /// It is over. The reason that it was retired for, if it was, is the one that stays.
    mutating func close(_ end: ConnectionEnd) {
        switch phase {
        case .connecting, .handshaking, .ready: phase = .closed(end)
        case .draining(let first): phase = .closed(first)
        case .closed: break
        }
    }

    /// Pushes are about to be sent: after a long silence, ask at the same time whether anybody is there.
    mutating func willSend(at now: MonotonicInstant) -> Action {
        guard pinged == nil, now - lastHeard >= limits.pingAfter else { return .none }
        pinged = now
        return .ping
    }

    /// Time went by.
    mutating func passed(to now: MonotonicInstant, inFlight: Int) -> Action {
        func isOver(_ since: MonotonicInstant?, _ limit: Duration) -> Bool { since.map { now - $0 >= limit } ?? false }
        switch phase {
        case .connecting, .closed: return .none
        case .handshaking:
            guard isOver(self.since, limits.settings) else { return .none }
            close(.settingsMissing)
            return .close
        case .ready, .draining: break
        }
        if isOver(pinged, limits.ping) { close(.silent) }
        if isOver(stalledSince, limits.writing) { close(.stalled) }
        if isOver(unacknowledgedSince, limits.acknowledgement) { retire(.settingsUnacknowledged) }
        if isOver(starvedSince, limits.starvation) { retire(.starved) }
        if isOver(heldSince, limits.starvation) { retire(.windowClosed) }
        if isOver(self.since, limits.age) { isOld = true }
        switch phase {
        case .closed: return .close
        case .draining where inFlight == 0: return .close
        default: return inFlight > 0 ? willSend(at: now) : .none
        }
    }
}

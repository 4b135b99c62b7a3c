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
        case draining(End)
        /// Over.
        case closed(End)
    }

    /// Every way a connection can end.
    enum End: Equatable {
        /// Nothing was sent for too long.
        case idle
        /// The session was shut down.
        case shutDown
        /// The gateway takes no more streams on it.
        case goneAway(reason: String?)
        /// The gateway closed it in good order.
        case closedByPeer
        /// The gateway did not accept our credential.
        case refused(String)
        /// It broke, or the peer broke the rules.
        case failed(String)
        /// The server did not name its settings in time.
        case settingsTimedOut
        /// The server did not answer a ping, or several pushes one after the other.
        case silent
        /// An answer said that this connection is used up.
        case usedUp
    }

    /// What the owner of the socket must do.
    enum Action: Equatable {
        case none
        case ping
        /// End every push in flight, and close.
        case close
    }

    /// The times that a connection is measured by.
    struct Limits {
        var settings: Duration
        var pingAfter: Duration
        var ping: Duration
        var lateAnswers = 3
    }

    private(set) var phase = Phase.connecting
    private let limits: Limits
    private var since: MonotonicInstant
    private(set) var lastHeard: MonotonicInstant
    private var pinged: MonotonicInstant?
    private var lateInARow = 0

    /// How many pushes got an answer that was about them, and not about the connection or the credential.
    private(set) var answered = 0

    init(_ limits: Limits, at now: MonotonicInstant) {
        self.limits = limits
        self.since = now
        self.lastHeard = now
    }

    var isReady: Bool { self.phase == .ready }

    /// The gateway does not want what comes with this credential, be it on this connection or on another.
    var isRefused: Bool {
        if case .draining(.refused) = self.phase { true } else { false }
    }

    var isClosed: Bool {
        if case .closed = self.phase { true } else { false }
    }

    /// The way to the server is made.
    mutating func connected(at now: MonotonicInstant) {
        guard self.phase == .connecting else { return }
        self.phase = .handshaking
        self.since = now
        self.lastHeard = now
    }

    /// The server named its settings.
    mutating func settled() {
        if self.phase == .handshaking { self.phase = .ready }
    }

    /// Something came from the server.
    mutating func heard(at now: MonotonicInstant) {
        self.lastHeard = now
        self.pinged = nil
    }

    /// A push was answered.
    mutating func wasAnswered(isOfUse: Bool) {
        if isOfUse { self.answered += 1 }
        self.lateInARow = 0
    }

    /// A push was not answered in time. A server that does so again and again does not answer at all any more.
    mutating func wasLate() {
        self.lateInARow += 1
        if self.lateInARow >= self.limits.lateAnswers { self.retire(.silent) }
    }

    /// No more pushes: what is in flight may still be answered. The first reason is the one that stays.
    mutating func retire(_ end: End) {
        switch self.phase {
        case .connecting, .handshaking, .ready: self.phase = .draining(end)
        case .draining, .closed: break
        }
    }

    /// It is over. The reason that it was retired for, if it was, is the one that stays.
    mutating func close(_ end: End) {
        switch self.phase {
        case .connecting, .handshaking, .ready: self.phase = .closed(end)
        case .draining(let first): self.phase = .closed(first)
        case .closed: break
        }
    }

    /// Pushes are about to be sent: after a long silence, ask at the same time whether anybody is there.
    mutating func willSend(at now: MonotonicInstant) -> Action {
        guard self.pinged == nil, now - self.lastHeard >= self.limits.pingAfter else { return .none }
        self.pinged = now
        return .ping
    }

    /// Time went by.
    mutating func passed(to now: MonotonicInstant, inFlight: Int) -> Action {
        switch self.phase {
        case .connecting, .closed: return .none
        case .handshaking:
            guard now - self.since >= self.limits.settings else { return .none }
            self.close(.settingsTimedOut)
            return .close
        case .draining where inFlight == 0: return .close
        case .ready, .draining:
            if let pinged = self.pinged, now - pinged >= self.limits.ping {
                self.close(.silent)
                return .close
            }
            return inFlight > 0 ? self.willSend(at: now) : .none
        }
    }
}

/// What a pool knows of a connection after each event.
struct ConnectionStatus {
    enum Phase {
        case dialing
        /// Takes few pushes at a time, until answers show that it can take more.
        case proving
        case ready
        /// Takes pushes until another has taken its place.
        case old
        case draining

        var takesPushes: Bool { self == .proving || self == .ready || self == .old }
    }

    /// How many pushes a connection takes.
    struct Room: Equatable {
        /// Right now.
        var free = 0
        var inFlight = 0
        /// At a time, as far as the gateway has said.
        var capacity = 0
    }

    var phase: Phase
    var room: Room
    var isClosed = false
    /// Why it takes no more pushes, once it does not.
    var end: ConnectionEnd?
    /// Pushes whose answer was about them, and not about the connection or the credential.
    var answered = 0
    /// An answer has shown that the gateway accepts the credential.
    var isAccepted = false
    /// The provider token that the gateway called too old.
    var refusedToken: ProviderToken?
}

/// What a pool knows about a connection after each event.
struct ConnectionStatus {
    enum Phase: Equatable {
        case dialing
        /// Accepts few pushes at a time, until answers show that it can accept more.
        case proving
        case ready
        /// Accepts pushes until another connection has taken its place.
        case old
        /// Accepts no more pushes, and waits for the answers to those in flight.
        case draining(ConnectionEnd)
        case closed(ConnectionEnd)

        /// Why the connection accepts no more pushes; nil while it does.
        var end: ConnectionEnd? {
            switch self {
            case .draining(let end), .closed(let end): end
            case .dialing, .proving, .ready, .old: nil
            }
        }

        var takesPushes: Bool { self == .proving || self == .ready || self == .old }
    }

    /// How many pushes a connection accepts.
    struct Room: Equatable {
        /// Right now.
        var free = 0
        var inFlight = 0
        /// In total at a time, as far as the gateway has announced.
        var capacity = 0
    }

    var phase: Phase
    var room: Room
    /// Pushes that got an answer about the push itself, not about the connection or the credential.
    var answered = 0
    /// Whether an answer has shown that the gateway accepts the credential.
    var isAccepted = false
    /// The provider token that the gateway refused as too old.
    var refusedToken: ProviderToken?
}

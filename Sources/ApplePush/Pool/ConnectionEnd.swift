/// Every way in which a connection can end. What happened first is the reason; what follows from it does not mask it.
enum ConnectionEnd: Error, Equatable {
    // We are done with it.

    /// Nothing was sent for too long.
    case idle
    /// Fewer connections are enough.
    case spare
    /// It has lived for long enough, and another took its place.
    case aged
    /// Its stream numbers are nearly used up.
    case exhausted
    /// The session was shut down.
    case shutDown

    // The gateway is done with it.

    /// The gateway takes no more streams on it.
    case goneAway(reason: String?)
    /// An answer said that it is used up.
    case usedUp
    /// The gateway did not accept our credential.
    case refused(String)
    /// The gateway closed it in good order.
    case closedByPeer

    // Something is wrong.

    /// It never came to be.
    case unconnected(PushError)
    /// The socket or TLS broke under it.
    case broken(String)
    /// The peer broke the rules of HTTP/2.
    case violated(String)
    /// The peer sent more than answers can take.
    case flooded(String)

    // The gateway did not do in time what it should have done.

    /// It did not name its settings.
    case settingsMissing
    /// It did not acknowledge ours.
    case settingsUnacknowledged
    /// It did not answer a ping, or several pushes one after the other.
    case silent
    /// It took no bytes.
    case stalled
    /// It had no stream for anybody.
    case starved
    /// It opened no window for the bodies that waited.
    case windowClosed

    /// What metrics call it.
    var name: String {
        switch self {
        case .idle: "idle"
        case .spare: "spare"
        case .aged: "aged"
        case .exhausted: "exhausted"
        case .shutDown: "shutdown"
        case .goneAway: "goaway"
        case .usedUp: "used_up"
        case .refused: "refused"
        case .closedByPeer: "closed"
        case .unconnected: "unconnected"
        case .broken: "broken"
        case .violated: "violated"
        case .flooded: "flooded"
        case .settingsMissing: "settings_missing"
        case .settingsUnacknowledged: "settings_unacknowledged"
        case .silent: "silent"
        case .stalled: "stalled"
        case .starved: "starved"
        case .windowClosed: "window_closed"
        }
    }

    /// It was our decision, and nobody's fault.
    var isOurs: Bool {
        switch self {
        case .idle, .spare, .aged, .exhausted, .shutDown: true
        default: false
        }
    }

    /// The gateway does not want what comes with this credential, be it on this connection or on another.
    var isRefusal: Bool { if case .refused = self { true } else { false } }

    /// The gateway may well answer on the next connection.
    var isPolite: Bool {
        switch self {
        case .goneAway, .closedByPeer, .usedUp: true
        default: false
        }
    }

    /// The machine at the other end may be to blame, so that another is worth a try first.
    func isAddressAtFault(answered: Int) -> Bool {
        switch self {
        case .unconnected(let error): error.code == .unreachable || error.code == .notHTTP2
        case .silent, .stalled, .starved, .windowClosed, .settingsMissing, .settingsUnacknowledged, .violated, .flooded:
            true
        case .broken, .closedByPeer, .goneAway: answered == 0
        case .idle, .spare, .aged, .exhausted, .shutDown, .usedUp, .refused: false
        }
    }

    /// Of the same kind, for the same reason in words.
    static func == (one: Self, other: Self) -> Bool { one.name == other.name && one.words == other.words }

    private var words: String? {
        switch self {
        case .goneAway(let reason): reason
        case .refused(let words), .broken(let words), .violated(let words), .flooded(let words): words
        case .unconnected(let error): error.message
        default: nil
        }
    }
}

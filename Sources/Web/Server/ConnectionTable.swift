import CarillonIO

/// The open connections of a server, as a value. When the limit is near, it names a connection to close, so that idle connections
/// never keep new clients out.
struct ConnectionTable {
    typealias ID = UInt

    enum Room: Equatable {
        case enough
        /// There is room only if this connection is closed.
        case closing(ID)
        /// There is no room: each of the allowed connections has a request under way.
        case none
    }

    private struct Entry {
        var activeAt: MonotonicInstant
        /// Whether it has had a response. Clients that keep such a connection open must expect it to be closed.
        var hasServed = false
        /// Whether its request is complete and its response not sent yet.
        var isBusy = false
        var isDismissed = false
        /// Of its last request.
        var target: RequestTarget?
    }

    private let limit: Int
    /// How many connections may stay open. The rest of `limit` is for connections that arrive while others are being closed.
    private let maxOpen: Int
    private var entries: [ID: Entry] = [:]
    private var dismissed = 0

    init(limit: Int) {
        self.limit = limit
        maxOpen = limit - max(1, limit / 16)
    }

    /// Whether the connection is being closed. Requests that still arrive on it must not be executed: the client would never get
    /// the response.
    func isDismissed(_ id: ID) -> Bool { entries[id]?.isDismissed ?? false }

    mutating func opened(_ id: ID, at now: MonotonicInstant) -> Room {
        entries[id] = Entry(activeAt: now)
        return makeRoom(sparing: id)
    }

    mutating func received(_ id: ID, at now: MonotonicInstant) { entries[id]?.activeAt = now }

    /// The target of a request has arrived on the connection.
    mutating func received(_ id: ID, _ target: RequestTarget) { entries[id]?.target = target }

    func target(_ id: ID) -> RequestTarget? { entries[id]?.target }

    /// A whole request has arrived on the connection.
    mutating func began(_ id: ID) { entries[id]?.isBusy = true }

    /// The response has been sent.
    mutating func ended(_ id: ID, at now: MonotonicInstant) -> Room {
        entries[id]?.isBusy = false
        entries[id]?.hasServed = true
        entries[id]?.activeAt = now
        return makeRoom(sparing: nil)
    }

    /// The connection is being closed, although a response is being sent on it.
    mutating func dismiss(_ id: ID) {
        guard entries[id]?.isDismissed == false else { return }
        entries[id]?.isDismissed = true
        dismissed += 1
    }

    mutating func closed(_ id: ID) {
        if entries.removeValue(forKey: id)?.isDismissed == true { dismissed -= 1 }
    }

    private mutating func makeRoom(sparing new: ID?) -> Room {
        guard entries.count - dismissed > maxOpen else { return .enough }
        let idle = entries.filter { $0.key != new && !$0.value.isBusy && !$0.value.isDismissed }
        let next = idle.min { one, other in
            if one.value.hasServed != other.value.hasServed { return one.value.hasServed }
            return one.value.activeAt < other.value.activeAt
        }
        guard let id = next?.key else { return entries.count < limit ? .enough : .none }
        entries[id]?.isDismissed = true
        dismissed += 1
        return .closing(id)
    }
}

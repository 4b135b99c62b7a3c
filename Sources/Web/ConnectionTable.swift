import CarillonIO

/// The open connections of a server, as a value. When few more are allowed, it names the one to close, so that connections that
/// clients keep open, or on which they send nothing, never keep others out.
struct ConnectionTable {
    typealias ID = UInt

    enum Room: Equatable {
        case enough
        /// Only if this one is closed.
        case closing(ID)
        /// As many as are allowed, each with a request under way.
        case none
    }

    private struct Entry {
        var activeAt: MonotonicInstant
        /// It has had a response. Clients that keep such a connection must expect that it is closed.
        var hasServed = false
        /// Its request is complete, and its response is not sent yet.
        var isBusy = false
        var isDismissed = false
    }

    private let limit: Int
    /// The rest is for connections that come while others are being closed.
    private let most: Int
    private var entries: [ID: Entry] = [:]
    private var dismissed = 0

    init(limit: Int) {
        self.limit = limit
        most = limit - max(1, limit / 16)
    }

    /// It is being closed, so what still comes on it must not be done: its client would never learn that it was.
    func isDismissed(_ id: ID) -> Bool { entries[id]?.isDismissed ?? false }

    mutating func opened(_ id: ID, at now: MonotonicInstant) -> Room {
        entries[id] = Entry(activeAt: now)
        return makeRoom(sparing: id)
    }

    mutating func received(_ id: ID, at now: MonotonicInstant) { entries[id]?.activeAt = now }

    /// A whole request.
    mutating func began(_ id: ID) { entries[id]?.isBusy = true }

    /// Its response is sent.
    mutating func ended(_ id: ID, at now: MonotonicInstant) -> Room {
        entries[id]?.isBusy = false
        entries[id]?.hasServed = true
        entries[id]?.activeAt = now
        return makeRoom(sparing: nil)
    }

    mutating func closed(_ id: ID) {
        if entries.removeValue(forKey: id)?.isDismissed == true { dismissed -= 1 }
    }

    private mutating func makeRoom(sparing new: ID?) -> Room {
        guard entries.count - dismissed > most else { return .enough }
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

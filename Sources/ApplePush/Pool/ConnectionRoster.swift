import IO

/// The connections of a pool: which of them takes how many pushes, when another is made, and which is closed. A value that
/// touches no socket; connections are known to it by their number.
struct ConnectionRoster {
    /// What the state knows of a connection.
    struct Member {
        let id: Int
        var phase = Phase.dialing
        var room = Room()
        var idleSince: MonotonicInstant
        var hasProved = false

        var isIdle: Bool { room.inFlight == 0 && phase.takesPushes }
    }

    enum Phase {
        case dialing
        /// Takes few pushes at a time, until it has proved to be good for more.
        case proving
        case ready
        /// Takes pushes until another can take its place.
        case old
        case draining

        var takesPushes: Bool { self == .proving || self == .ready || self == .old }
    }

    /// How much a connection takes.
    struct Room: Equatable {
        /// How many pushes it takes right now.
        var free = 0
        var inFlight = 0
        /// How many the gateway takes on it at a time.
        var capacity = 0
    }

    /// How many of the waiting pushes a connection takes.
    struct Share: Equatable {
        let id: Int
        let count: Int
    }

    /// What to do about a new connection.
    enum Dial: Equatable {
        case no
        /// Make the connection of that number.
        case now(Int)
        /// Ask again at that time.
        case at(MonotonicInstant)
    }

    /// How many pushes a gateway judges a certificate by that it has not accepted yet.
    static let certificateTrial = 8
    /// The smallest share that is worth a write of its own.
    static let smallestShare = 32
    /// For how long pushes must have waited for streams before another connection is made.
    static let patience: Duration = .milliseconds(100)

    let limit: Int
    /// How many connections the load needs, as far as is known.
    private(set) var strength = 1
    /// After how many answers the last connection was lost that had not lived for long; nil: they live.
    private(set) var expectancy: Int?
    private(set) var members: [Member] = []
    private(set) var pace = ReconnectPace()
    private var load = LoadGauge()
    private var nextID = 0
    private var fullSince: MonotonicInstant?

    init(limit: Int) { self.limit = max(1, limit) }

    func contains(_ id: Int) -> Bool { members.contains { $0.id == id } }

    /// Whether some connection lives that may yet take pushes.
    var hasHope: Bool { members.contains { $0.phase != .draining } }

    /// Whether a push could be sent at once.
    var hasRoom: Bool { members.contains { $0.room.free > 0 } }

    /// How many pushes the gateway takes at a time, on all connections; nil while nobody knows.
    var capacity: Int? {
        var capacity: Int?
        for member in members where member.phase == .ready || member.phase == .old {
            capacity = (capacity ?? 0) + member.room.capacity
        }
        return capacity
    }

    // MARK: More

    /// Asked whenever pushes were handed out, with how many are left for which no connection has room, until the
    /// answer is no.
    mutating func dial(
        waiting: Int,
        at now: MonotonicInstant,
        using random: inout some RandomNumberGenerator
    ) -> Dial {
        guard waiting > 0 || needsSuccessor else {
            fullSince = nil
            return .no
        }
        if let answer = mayWait(at: now) { return answer }
        if let earliest = pace.earliest, now < earliest { return .at(earliest) }
        fullSince = nil
        pace.dialed(at: now, using: &random)
        load.reset()
        nextID += 1
        members.append(Member(id: nextID, idleSince: now))
        return .now(nextID)
    }

    /// Only old connections are left, and they are in use.
    private var needsSuccessor: Bool {
        members.contains { $0.phase == .old && $0.room.inFlight > 0 }
            && members.allSatisfy { $0.phase == .old || $0.phase == .draining }
    }

    /// What the connections that there are say to another: nothing, if one is needed.
    private mutating func mayWait(at now: MonotonicInstant) -> Dial? {
        let young = members.filter { $0.phase != .draining && $0.phase != .old }
        // Where only old ones are left, one of them is to be replaced, however much room they have.
        if young.isEmpty { return nil }
        if hasRoom {
            self.fullSince = nil
            return .no
        }
        // What was lost is replaced at once.
        if young.count < strength { return nil }
        if young.contains(where: { $0.phase != .ready }) || young.count >= limit { return .no }
        let fullSince = self.fullSince ?? now
        self.fullSince = fullSince
        if now - fullSince < Self.patience { return .at(fullSince + Self.patience) }
        strength = young.count + 1
        return nil
    }

    // MARK: Pushes

    /// The connections that take a share of the waiting pushes, the oldest first, and how many each takes.
    func shares(of waiting: Int) -> [Share] {
        let open = members.filter { $0.room.free > 0 }
        guard waiting > 0, !open.isEmpty else { return [] }
        let even = max(Self.smallestShare, (waiting + open.count - 1) / open.count)
        var left = waiting
        var shares: [Share] = []
        for member in open where left > 0 {
            let count = min(member.room.free, even, left)
            shares.append(Share(id: member.id, count: count))
            left -= count
        }
        return shares
    }

    // MARK: What happened

    /// A connection is what it now is.
    mutating func changed(_ id: Int, to phase: Phase, _ room: Room, at now: MonotonicInstant) {
        guard let place = members.firstIndex(where: { $0.id == id }) else { return }
        let wasBusy = members[place].room.inFlight > 0 || members[place].phase == .dialing
        members[place].phase = phase
        members[place].room = room
        if phase == .ready, !members[place].hasProved {
            members[place].hasProved = true
            expectancy = nil
        }
        if !phase.takesPushes { members[place].room.free = 0 }
        if wasBusy || room.inFlight > 0 { members[place].idleSince = now }
        if members.count > 1 { load.note(members.reduce(0) { $0 + $1.room.inFlight }, at: now) }
    }

    /// A connection is gone that had carried so many pushes to an answer; nil: it was of no use.
    mutating func ended(
        _ id: Int,
        by end: ConnectionEnd,
        answers: Int?,
        at now: MonotonicInstant,
        using random: inout some RandomNumberGenerator
    ) {
        guard let place = members.firstIndex(where: { $0.id == id }) else { return }
        let member = members.remove(at: place)
        load.reset()
        guard let answers else {
            strength = 1
            return pace.failed(at: now, using: &random)
        }
        pace.succeeded(answers: answers)
        switch end {
        case .idle, .spare: strength = max(1, strength - 1)
        // Where connections are lost before they are any good, it takes several to get on.
        case .goneAway, .closedByPeer, .broken:
            if member.hasProved { break }
            strength = min(limit, strength + 1)
            expectancy = max(1, answers)
        default: break
        }
    }

    // MARK: Fewer

    /// The old connections, as soon as another can take their place.
    var replaced: [Int] {
        guard members.contains(where: { $0.phase == .old }),
            members.contains(where: { $0.phase == .ready })
        else { return [] }
        return members.filter { $0.phase == .old }.map(\.id)
    }

    /// A connection without which the others would have had room for twice of what there was of late.
    var spare: Int? {
        let ready = members.filter { $0.phase == .ready }
        guard ready.count > 1, ready.count == members.count, let newest = ready.last, let peak = load.peak
        else { return nil }
        return peak * 2 <= ready.dropLast().reduce(0) { $0 + $1.room.capacity } ? newest.id : nil
    }

    /// When there may be a spare one.
    var nextSpare: MonotonicInstant? { members.count > 1 ? load.due : nil }

    /// The connections that have had nothing to do for longer than that.
    func idle(longerThan limit: Duration, at now: MonotonicInstant) -> [Int] {
        members.filter { $0.isIdle && now - $0.idleSince > limit }.map(\.id)
    }

    /// When the next of them will have been idle for that long.
    func nextIdle(after limit: Duration) -> MonotonicInstant? {
        members.filter { $0.isIdle }.map { $0.idleSince + limit }.min()
    }
}

import CarillonIO

/// The connections of a pool, by number. Decides how many pushes each takes, when another is opened, and which is closed. A value
/// without sockets.
struct ConnectionRoster {
    struct Member {
        let id: Int
        var phase = ConnectionStatus.Phase.dialing
        var room = ConnectionStatus.Room()
        var idleSince: MonotonicInstant
        var hasProved = false

        var isIdle: Bool { room.inFlight == 0 && phase.takesPushes }
    }

    /// How many of the waiting pushes a connection takes.
    struct Allotment: Equatable {
        let id: Int
        let count: Int
    }

    /// Whether to open another connection.
    enum Dial: Equatable {
        case no
        /// Open the connection with this number now.
        case now(Int)
        /// Ask again at that time.
        case at(MonotonicInstant)
    }

    /// How many pushes may be in flight before the gateway has accepted a certificate.
    static let certificateAcceptanceLimit = 8
    /// The smallest allotment that is worth its own write.
    static let smallestAllotment = 32
    /// How long pushes must have waited for room before another connection is opened.
    static let growthDelay: Duration = .milliseconds(100)

    let limit: Int
    /// How many connections the load needs, as far as is known.
    private(set) var target = 1
    /// How many answers the last connection gave before it was lost early; nil if none was lost early.
    private(set) var expectedAnswers: Int?
    private(set) var members: [Member] = []
    private(set) var pace = GatewayReconnectPace()
    private var load = LoadGauge()
    private var nextID = 0
    private var fullSince: MonotonicInstant?

    init(limit: Int) { self.limit = max(1, limit) }

    func contains(_ id: Int) -> Bool { members.contains { $0.id == id } }

    /// Whether a connection accepts pushes or will do so.
    var hasUsable: Bool { members.contains { $0.phase.end == nil } }

    /// Whether a push could be sent at once.
    var hasRoom: Bool { members.contains { $0.room.free > 0 } }

    /// How many pushes the gateway accepts at a time, on all connections; nil while unknown.
    var capacity: Int? {
        var capacity: Int?
        for member in members where member.phase == .ready || member.phase == .old {
            capacity = (capacity ?? 0) + member.room.capacity
        }
        return capacity
    }

    // MARK: More

    /// Call this after handing out pushes, with the number of pushes left, until the answer is `no`.
    mutating func dial(waiting: Int, at now: MonotonicInstant, using random: inout some RandomNumberGenerator) -> Dial {
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

    /// Whether only old connections are left, and they are in use.
    private var needsSuccessor: Bool {
        members.contains { $0.phase == .old && $0.room.inFlight > 0 }
            && members.allSatisfy { $0.phase == .old || $0.phase.end != nil }
    }

    /// Decides whether a new connection can wait; nil if one is needed now.
    private mutating func mayWait(at now: MonotonicInstant) -> Dial? {
        let young = members.filter { $0.phase.end == nil && $0.phase != .old }
        // If only old ones are left, replace one, however much room they have.
        if young.isEmpty { return nil }
        if hasRoom {
            self.fullSince = nil
            return .no
        }
        // A lost connection is replaced at once.
        if young.count < target { return nil }
        if young.contains(where: { $0.phase != .ready }) || young.count >= limit { return .no }
        let fullSince = self.fullSince ?? now
        self.fullSince = fullSince
        if now - fullSince < Self.growthDelay { return .at(fullSince + Self.growthDelay) }
        target = young.count + 1
        return nil
    }

    // MARK: Pushes

    /// Spreads the waiting pushes over the connections with room, oldest first.
    func allotments(of waiting: Int) -> [Allotment] {
        let open = members.filter { $0.room.free > 0 }
        guard waiting > 0, !open.isEmpty else { return [] }
        let even = max(Self.smallestAllotment, (waiting + open.count - 1) / open.count)
        var left = waiting
        var allotments: [Allotment] = []
        for member in open where left > 0 {
            let count = min(member.room.free, even, left)
            allotments.append(Allotment(id: member.id, count: count))
            left -= count
        }
        return allotments
    }

    // MARK: What happened

    mutating func changed(
        _ id: Int,
        to phase: ConnectionStatus.Phase,
        _ room: ConnectionStatus.Room,
        at now: MonotonicInstant
    ) {
        guard let index = members.firstIndex(where: { $0.id == id }) else { return }
        let wasBusy = members[index].room.inFlight > 0 || members[index].phase == .dialing
        members[index].phase = phase
        members[index].room = room
        if phase == .ready, !members[index].hasProved {
            members[index].hasProved = true
            expectedAnswers = nil
        }
        if !phase.takesPushes { members[index].room.free = 0 }
        if wasBusy || room.inFlight > 0 { members[index].idleSince = now }
        if members.count > 1 { load.note(members.reduce(0) { $0 + $1.room.inFlight }, at: now) }
    }

    /// - Parameter answers: how many pushes were answered on it; nil if the connection was of no use.
    mutating func ended(
        _ id: Int,
        by end: ConnectionEnd,
        answers: Int?,
        at now: MonotonicInstant,
        using random: inout some RandomNumberGenerator
    ) {
        guard let index = members.firstIndex(where: { $0.id == id }) else { return }
        let member = members.remove(at: index)
        load.reset()
        guard let answers else {
            target = 1
            return pace.failed(at: now, using: &random)
        }
        pace.succeeded(answers: answers)
        if end == .idle || end == .spare {
            target = max(1, target - 1)
        } else if end.kind == .goodbye || end.kind == .broken, !member.hasProved {
            // If connections are lost before they have proved themselves, more of them are needed at a time.
            target = min(limit, target + 1)
            expectedAnswers = max(1, answers)
        }
    }

    // MARK: Fewer

    /// The old connections, once another can take their place.
    var replaced: [Int] {
        guard members.contains(where: { $0.phase == .old }),
            members.contains(where: { $0.phase == .ready })
        else { return [] }
        return members.filter { $0.phase == .old }.map(\.id)
    }

    /// A connection that is not needed: the others alone would have had room for twice the recent load.
    var spare: Int? {
        let ready = members.filter { $0.phase == .ready }
        guard ready.count > 1, ready.count == members.count, let newest = ready.last, let peak = load.peak
        else { return nil }
        return peak * 2 <= ready.dropLast().reduce(0) { $0 + $1.room.capacity } ? newest.id : nil
    }

    var nextSpare: MonotonicInstant? { members.count > 1 ? load.due : nil }

    func idle(longerThan limit: Duration, at now: MonotonicInstant) -> [Int] {
        members.filter { $0.isIdle && now - $0.idleSince > limit }.map(\.id)
    }

    func nextIdle(after limit: Duration) -> MonotonicInstant? {
        members.filter { $0.isIdle }.map { $0.idleSince + limit }.min()
    }
}

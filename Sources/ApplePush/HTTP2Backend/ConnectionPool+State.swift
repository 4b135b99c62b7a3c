import IO

extension ConnectionPool {
    /// Which connection takes how many pushes, when another is made, and when one is closed: a value that touches no
    /// socket. Connections are known to it by their number.
    struct State {
        /// What the state knows of a connection.
        struct Member {
            let id: Int
            var phase: Phase
            /// How many pushes it takes right now.
            var free: Int = 0
            var inFlight: Int = 0
            var idleSince: MonotonicInstant

            var isIdle: Bool { self.inFlight == 0 && (self.phase == .ready || self.phase == .proving) }
        }

        enum Phase {
            case dialing
            /// Takes one push at a time, until it has proved to be good for more.
            case proving
            case ready
            case draining
        }

        /// What to do about a new connection.
        enum Dial: Equatable {
            case no
            /// Make the connection of that number.
            case now(Int)
            /// Ask again at that time.
            case at(MonotonicInstant)
        }

        /// The smallest share that is worth a write of its own.
        static let smallestShare = 32
        /// For how long pushes must have waited for streams before another connection is made.
        static let patience: Duration = .milliseconds(100)

        let limit: Int
        private(set) var members: [Member] = []
        private(set) var redial = Redial()
        private var nextID = 0
        private var fullSince: MonotonicInstant?

        init(limit: Int) { self.limit = max(1, limit) }

        /// Whether some connection lives that may yet take pushes.
        var hasHope: Bool { self.members.contains { $0.phase != .draining } }

        /// Asked whenever pushes wait that no connection has room for.
        mutating func dial(waiting: Int, at now: MonotonicInstant) -> Dial {
            guard waiting > 0 else {
                self.fullSince = nil
                return .no
            }
            let live = self.members.filter { $0.phase != .draining }
            if !live.isEmpty {
                if live.contains(where: { $0.phase != .ready }) || live.count >= self.limit { return .no }
                if live.contains(where: { $0.free > 0 }) {
                    self.fullSince = nil
                    return .no
                }
                let fullSince = self.fullSince ?? now
                self.fullSince = fullSince
                if now - fullSince < Self.patience { return .at(fullSince + Self.patience) }
            }
            if let earliest = self.redial.earliest, now < earliest { return .at(earliest) }
            self.fullSince = nil
            self.nextID += 1
            self.members.append(Member(id: self.nextID, phase: .dialing, idleSince: now))
            return .now(self.nextID)
        }

        /// The connections that take a share of the waiting pushes, the oldest first, and how many each takes.
        func shares(of waiting: Int) -> [(id: Int, count: Int)] {
            let open = self.members.filter { $0.free > 0 }
            guard waiting > 0, !open.isEmpty else { return [] }
            let even = max(Self.smallestShare, (waiting + open.count - 1) / open.count)
            var left = waiting
            var shares: [(id: Int, count: Int)] = []
            for member in open where left > 0 {
                let count = min(member.free, even, left)
                shares.append((member.id, count))
                left -= count
            }
            return shares
        }

        /// A connection is what it now is.
        mutating func changed(_ id: Int, to phase: Phase, free: Int, inFlight: Int, at now: MonotonicInstant) {
            guard let place = self.members.firstIndex(where: { $0.id == id }) else { return }
            let wasBusy = self.members[place].inFlight > 0 || self.members[place].phase == .dialing
            self.members[place].phase = phase
            self.members[place].free = phase == .ready || phase == .proving ? free : 0
            self.members[place].inFlight = inFlight
            if wasBusy || inFlight > 0 { self.members[place].idleSince = now }
        }

        /// A connection is gone.
        mutating func ended(
            _ id: Int,
            wasOfUse: Bool,
            at now: MonotonicInstant,
            using random: inout some RandomNumberGenerator
        ) {
            self.members.removeAll { $0.id == id }
            if wasOfUse { self.redial.succeeded() } else { self.redial.failed(at: now, using: &random) }
        }

        /// The connections that have had nothing to do for longer than that.
        func idle(longerThan limit: Duration, at now: MonotonicInstant) -> [Int] {
            self.members.filter { $0.isIdle && now - $0.idleSince > limit }.map(\.id)
        }

        /// When the next of them will have been idle for that long.
        func nextIdle(after limit: Duration) -> MonotonicInstant? {
            self.members.filter { $0.isIdle }.map { $0.idleSince + limit }.min()
        }
    }
}

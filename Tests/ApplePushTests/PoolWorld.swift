import IO

@testable import ApplePush

/// A pool's state and queue with made-up connections around them, and everything that can happen, by a seed.
final class PoolWorld {
    struct Connection {
        var sighting = ConnectionSighting(phase: .dialing, room: .init())
        var inFlight: [QueuedPush] = []
    }

    private(set) var state: PoolState<SeededGenerator>
    let queue = DeliveryQueue(waitingTimeout: .seconds(20))
    private(set) var connections: [Int: Connection] = [:]
    private(set) var faults: [String] = []
    private(set) var added = 0
    private(set) var sent = 0
    private var deliveries: [Delivery] = []
    private var cancelled: Set<Int> = []
    private var isFetching = false
    private var now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    private var random: SeededGenerator
    private let capacity: Int

    init(seed: UInt64) throws {
        self.random = SeededGenerator(seed: seed)
        self.capacity = [1, 10, 100, 1_000][Int(seed % 4)]
        self.state = PoolState(
            to: try Gateway("gateway.example:2197"),
            usesTokens: seed % 3 == 0,
            connections: 1 + Int(seed % 5),
            idleTimeout: .seconds(300),
            random: SeededGenerator(seed: seed &+ 1)
        )
    }

    /// How many pushes have ended, each once: a delivery that is done has an outcome for each.
    var ended: Int { self.deliveries.reduce(0) { $0 + $1.outcomes.count { $0.verdict != .pending } } }

    // MARK: What happens

    func step() {
        switch Int.random(in: 0..<100, using: &self.random) {
        case 0..<15: self.add()
        case 15..<20: self.cancel()
        case 20..<35: self.any(.dialing) { self.open($0) }
        case 35..<38: self.any(.dialing) { self.close($0, .unconnected(PushError(.unreachable, "down"))) }
        case 38..<70: self.any(.ready) { self.answer($0) }
        case 70..<75: self.any(.ready) { self.takeBack($0) }
        case 75..<78: self.any(.ready) { self.drain($0, .usedUp) }
        case 78..<80: self.any(.draining) { self.answer($0) }
        case 80..<82: self.any(.ready) { self.close($0, .broken("reset")) }
        case 82: self.any(.ready) { self.drain($0, .refused("BadCertificate")) }
        case 83: self.any(.ready) { self.change($0) { $0.sighting.isOld = true } }
        case 84: self.state.credentialReplaced()
        case 85..<90: self.tokenComes()
        default: self.pass(.milliseconds(Int64.random(in: 1...3_000, using: &self.random)))
        }
        self.pump()
        self.check()
    }

    /// The gateway is well again, and nothing new comes: all there is must end, and soon.
    func settleDown() {
        for _ in 0..<20_000 where !self.queue.isEmpty {
            self.tokenComes()
            for id in self.connections.keys.sorted() {
                if self.connections[id]?.sighting.phase == .dialing { self.open(id) }
                self.answer(id)
            }
            // Short of the time after which pushes are given up.
            self.pass(.milliseconds(100))
            self.pump()
            self.check()
        }
        if !self.queue.isEmpty { self.faults.append("\(self.queue.waiting) pushes starve") }
    }

    func shutDown() {
        self.add()
        self.pump()
        self.state.shutDown()
        self.settle()
        self.pump()
        if !self.queue.isEmpty { self.faults.append("pushes outlive the shutdown") }
        self.check()
    }

    private func add() {
        let count = Bool.random(using: &self.random) ? 1 : Int.random(in: 2...300, using: &self.random)
        let serial = self.deliveries.count
        let delivery = Delivery(
            serial,
            batch(count),
            DeliveryTerms(),
            from: self.now,
            completion: nil,
            onCancel: {}
        )
        self.deliveries.append(delivery)
        self.added += count
        self.queue.add(delivery)
        self.state.deliveryAdded()
        self.settle()
    }

    private func cancel() {
        guard let delivery = self.deliveries.suffix(8).randomElement(using: &self.random) else { return }
        self.cancelled.insert(delivery.serial)
        self.queue.cancel(delivery.serial)
    }

    private func any(_ phase: ConnectionRoster.Phase, _ body: (Int) -> Void) {
        let ids = self.connections.filter { $0.value.sighting.phase == phase }.keys.sorted()
        if let id = ids.randomElement(using: &self.random) { body(id) }
    }

    private func open(_ id: Int) { self.change(id) { $0.sighting.phase = .ready } }

    private func answer(_ id: Int) {
        self.change(id) { connection in
            let count = Int.random(in: 0...connection.inFlight.count, using: &self.random)
            for push in connection.inFlight.prefix(count) { self.queue.end(push, .delivered) }
            connection.inFlight.removeFirst(count)
            connection.sighting.answered += count
            if count == 0 { return }
            connection.sighting.isAccepted = true
            self.queue.answered(at: self.now)
        }
    }

    private func takeBack(_ id: Int) {
        self.change(id) { connection in
            guard let push = connection.inFlight.popLast() else { return }
            self.queue.takeBack(push, orEnd: Outcome(.safe))
        }
    }

    /// The gateway takes no more, and has not processed the last of what it got.
    private func drain(_ id: Int, _ end: ConnectionEnd) {
        self.change(id) { connection in
            connection.sighting.phase = .draining
            connection.sighting.end = end
            for _ in 0..<connection.inFlight.count / 2 { self.queue.takeBack(connection.inFlight.removeLast()) }
        }
    }

    private func close(_ id: Int, _ end: ConnectionEnd) {
        self.change(id) { connection in
            connection.sighting.phase = .draining
            connection.sighting.end = connection.sighting.end ?? end
            connection.sighting.isClosed = true
            for push in connection.inFlight { self.queue.end(push, Outcome(.unknown)) }
            connection.inFlight = []
        }
    }

    private func tokenComes() {
        guard self.isFetching else { return }
        self.isFetching = false
        let token = ProviderToken(jwt: "token", issuedAt: 0)
        let authorization = Authorization(token: token, isRenewed: false, since: self.now)
        self.state.tokenCame(authorization, for: .seconds(60))
        self.settle()
    }

    private func pass(_ time: Duration) {
        self.now = self.now + time
        self.queue.passed(to: self.now)
        self.state.passed(to: self.now, waiting: self.queue.waiting)
        self.settle()
    }

    // MARK: What the shell does

    private func change(_ id: Int, _ body: (inout Connection) -> Void) {
        guard var connection = self.connections[id] else { return }
        body(&connection)
        let takes = connection.sighting.phase == .ready
        connection.sighting.room = ConnectionRoster.Room(
            free: takes ? self.capacity - connection.inFlight.count : 0,
            inFlight: connection.inFlight.count,
            capacity: takes ? self.capacity : 0
        )
        self.connections[id] = connection
        var sighting = connection.sighting
        if takes, sighting.isOld { sighting.phase = .old }
        self.state.changed(id, to: sighting, waiting: self.queue.waiting, at: self.now)
        self.settle()
    }

    private func settle() {
        while let action = self.state.nextAction() {
            switch action {
            case .dial(let id, _): self.dial(id)
            case .retire(let id, let end):
                self.change(id) { connection in
                    if connection.sighting.end != nil { return }
                    connection.sighting.phase = .draining
                    connection.sighting.end = end
                }
            case .end(let id, let end): self.close(id, end)
            case .forget(let id, _): self.forget(id)
            case .giveUpWaiting(let failure): self.queue.giveUp(.unconnected(failure)) { _ in true }
            case .fetchToken:
                if self.isFetching { self.faults.append("two tokens are asked for at a time") }
                self.isFetching = true
            case .endPreparing, .authorize: break
            }
        }
    }

    private func dial(_ id: Int) {
        if self.connections[id] != nil { self.faults.append("connection \(id) is made twice") }
        if self.state.isShutDown { self.faults.append("connection \(id) is made after the shutdown") }
        self.connections[id] = Connection()
    }

    private func forget(_ id: Int) {
        guard let connection = self.connections.removeValue(forKey: id) else {
            return self.faults.append("connection \(id) is forgotten twice")
        }
        if !connection.inFlight.isEmpty || !connection.sighting.isClosed {
            self.faults.append("connection \(id) is forgotten while it lives")
        }
    }

    private func pump() {
        while let share = self.state.nextShare(of: self.queue.waiting, at: self.now) {
            let before = self.queue.waiting
            self.change(share.id) { connection in
                var left = min(share.count, self.capacity - connection.inFlight.count)
                while left > 0, let run = self.queue.next(left, in: .unlimited) {
                    if self.cancelled.contains(run.delivery.serial) {
                        self.faults.append("delivery \(run.delivery.serial) is sent after it was cancelled")
                    }
                    connection.inFlight += run.positions.map { run.push(at: $0) }
                    self.sent += run.positions.count
                    left -= run.positions.count
                }
            }
            if self.queue.waiting == before { return self.faults.append("a share of no pushes was handed out") }
        }
        self.state.spread(left: self.queue.waiting, at: self.now)
        self.settle()
    }

    // MARK: What always holds

    private func check() {
        self.settle()
        let known = self.state.roster.members.map(\.id)
        if known != self.connections.keys.sorted() {
            self.faults.append("the state knows \(known), there are \(self.connections.keys.sorted())")
        }
        for connection in self.connections.values where connection.inFlight.count > self.capacity {
            self.faults.append("\(connection.inFlight.count) pushes are in flight on a connection for \(self.capacity)")
        }
    }
}

import CarillonIO

@testable import ApplePush

/// A pool's state and queue with simulated connections. A seed decides what happens.
final class PoolWorld {
    struct Connection {
        var status = ConnectionStatus(phase: .dialing, room: .init())
        var inFlight: [QueuedPush] = []
        var isOld = false
    }

    private(set) var state: PoolState
    let queue = DeliveryQueue(waitingTimeout: .seconds(20))
    private(set) var connections: [Int: Connection] = [:]
    private(set) var faults: [String] = []
    private(set) var added = 0
    /// Pushes that have ended, each once.
    private(set) var ended = 0
    private(set) var sent = 0
    private var deliveries = 0
    private var cancelled: Set<Int> = []
    private var isFetching = false
    private var now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    private var random: SeededGenerator
    private let capacity: Int

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        capacity = [1, 10, 100, 1_000][Int(seed % 4)]
        var configuration = HTTP2Configuration()
        configuration.connections = 1 + Int(seed % 5)
        state = PoolState(
            to: try Gateway("gateway.example:2197"),
            usesTokens: seed % 3 == 0,
            configuration.pool,
            seed: seed &+ 1
        )
    }

    // MARK: What happens

    func step() {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<15: add()
        case 15..<20: cancel()
        case 20..<35: self.any({ $0 == .dialing }) { self.open($0) }
        case 35..<38: self.any({ $0 == .dialing }) { close($0, .unconnected(PushError(.unreachable, "down"))) }
        case 38..<70: self.any({ $0 == .ready }) { answer($0) }
        case 70..<75: self.any({ $0 == .ready }) { takeBack($0) }
        case 75..<78: self.any({ $0 == .ready }) { drain($0, .usedUp) }
        case 78..<80: self.any({ $0.end != nil }) { answer($0) }
        case 80..<82: self.any({ $0 == .ready }) { close($0, .broken("reset")) }
        case 82: self.any({ $0 == .ready }) { drain($0, .refused("BadCertificate")) }
        case 83: self.any({ $0 == .ready }) { change($0) { $0.isOld = true } }
        case 84: state.credentialReplaced(waiting: queue.waiting)
        case 85..<90: tokenComes()
        default: pass(.milliseconds(Int64.random(in: 1...3_000, using: &random)))
        }
        pump()
        check()
    }

    /// The gateway works again, and nothing is added: every push must end soon.
    func settleDown() {
        for _ in 0..<20_000 where !queue.isEmpty {
            tokenComes()
            for id in connections.keys.sorted() {
                if connections[id]?.status.phase == .dialing { self.open(id) }
                answer(id)
            }
            // Less than the waiting limit of pushes.
            pass(.milliseconds(100))
            pump()
            check()
        }
        if !queue.isEmpty { faults.append("\(queue.waiting) pushes did not end") }
    }

    func shutDown() {
        add()
        pump()
        state.shutDown()
        settle()
        pump()
        if !queue.isEmpty { faults.append("pushes did not end with the shutdown") }
        check()
    }

    private func add() {
        let count = Bool.random(using: &random) ? 1 : Int.random(in: 2...300, using: &random)
        queue.add(Delivery(deliveries, batch(count), DeliveryTerms(), at: now), onCancel: {}) { delivered in
            self.ended += delivered.outcomes.count { $0.verdict != .pending }
        }
        deliveries += 1
        added += count
        state.deliveryAdded()
        settle()
    }

    private func cancel() {
        let recent = max(0, deliveries - 8)..<deliveries
        guard let serial = recent.randomElement(using: &random) else { return }
        cancelled.insert(serial)
        queue.cancel(serial)
    }

    private func any(_ isWanted: (ConnectionStatus.Phase) -> Bool, _ body: (Int) -> Void) {
        let ids = connections.filter { isWanted($0.value.status.phase) }.keys.sorted()
        if let id = ids.randomElement(using: &random) { body(id) }
    }

    private func open(_ id: Int) { change(id) { $0.status.phase = .ready } }

    private func answer(_ id: Int) {
        change(id) { connection in
            let count = Int.random(in: 0...connection.inFlight.count, using: &random)
            for push in connection.inFlight.prefix(count) { queue.end(push, .accepted) }
            connection.inFlight.removeFirst(count)
            connection.status.answered += count
            if count == 0 { return }
            connection.status.isAccepted = true
            queue.answered(at: now)
        }
    }

    private func takeBack(_ id: Int) {
        change(id) { connection in
            guard let push = connection.inFlight.popLast() else { return }
            queue.takeBack(push, isRefused: true)
        }
    }

    /// The gateway takes no more pushes, and has not processed the last ones.
    private func drain(_ id: Int, _ end: ConnectionEnd) {
        change(id) { connection in
            connection.status.phase = .draining(end)
            for _ in 0..<connection.inFlight.count / 2 { queue.takeBack(connection.inFlight.removeLast()) }
        }
    }

    private func close(_ id: Int, _ end: ConnectionEnd) {
        change(id) { connection in
            connection.status.phase = .closed(connection.status.phase.end ?? end)
            for push in connection.inFlight { queue.end(push, Outcome(.unknown)) }
            connection.inFlight = []
        }
    }

    private func tokenComes() {
        guard isFetching else { return }
        isFetching = false
        let token = ProviderToken(jwt: "token", issuedAt: 0)
        let authorization = Authorization(token: token, isRenewed: false, since: now)
        state.tokenFetched(authorization, for: .seconds(60))
        settle()
    }

    private func pass(_ time: Duration) {
        now = now + time
        queue.passed(to: now)
        state.passed(to: now, waiting: queue.waiting)
        settle()
    }

    // MARK: What the shell does

    private func change(_ id: Int, _ body: (inout Connection) -> Void) {
        guard var connection = connections[id] else { return }
        body(&connection)
        let takes = connection.status.phase == .ready
        connection.status.room = ConnectionStatus.Room(
            free: takes ? capacity - connection.inFlight.count : 0,
            inFlight: connection.inFlight.count,
            capacity: takes ? capacity : 0
        )
        connections[id] = connection
        var status = connection.status
        if takes, connection.isOld { status.phase = .old }
        state.changed(id, to: status, waiting: queue.waiting, at: now)
        settle()
    }

    private func settle() {
        while let action = state.nextAction() {
            switch action {
            case .dial(let id, _): dial(id)
            case .retire(let id, let end):
                change(id) { connection in
                    if connection.status.phase.end == nil { connection.status.phase = .draining(end) }
                }
            case .end(let id, let end): close(id, end)
            case .forget(let id, _): forget(id)
            case .giveUpWaiting(let failure): queue.giveUp(.noConnection(failure))
            case .fetchToken:
                if isFetching { faults.append("two tokens are fetched at a time") }
                isFetching = true
            case .endPreparing, .authorize: break
            }
        }
    }

    private func dial(_ id: Int) {
        if connections[id] != nil { faults.append("connection \(id) is made twice") }
        if state.isShutDown { faults.append("connection \(id) is made after the shutdown") }
        connections[id] = Connection()
    }

    private func forget(_ id: Int) {
        guard let connection = connections.removeValue(forKey: id) else {
            return faults.append("connection \(id) is released twice")
        }
        guard connection.inFlight.isEmpty, case .closed = connection.status.phase else {
            return faults.append("connection \(id) is released before it is closed")
        }
    }

    private func pump() {
        while let allotment = state.nextAllotment(of: queue.waiting, at: now) {
            let before = queue.waiting
            change(allotment.id) { connection in
                var left = min(allotment.count, capacity - connection.inFlight.count)
                while left > 0, let run = queue.next(left, in: .unlimited) {
                    if cancelled.contains(run.serial) {
                        faults.append("delivery \(run.serial) is sent after it was cancelled")
                    }
                    connection.inFlight += run.positions.map { run.push(at: $0) }
                    sent += run.positions.count
                    left -= run.positions.count
                }
            }
            if queue.waiting == before { return faults.append("an allotment without pushes was handed out") }
        }
        state.spread(left: queue.waiting, at: now)
        settle()
    }

    // MARK: What always holds

    private func check() {
        settle()
        let known = state.roster.members.map(\.id)
        if known != connections.keys.sorted() {
            faults.append("the state knows \(known), there are \(connections.keys.sorted())")
        }
        for connection in connections.values where connection.inFlight.count > capacity {
            faults.append("\(connection.inFlight.count) pushes are in flight on a connection for \(capacity)")
        }
    }
}

import CarillonIO
import Testing

@testable import ApplePush

/// What a pool decides, without socket, clock or task.
@Suite struct PoolStateTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    private func state(usesTokens: Bool = false) throws -> PoolState {
        PoolState(to: try Gateway("gateway.example:2197"), usesTokens: usesTokens, HTTP2Configuration().pool, seed: 1)
    }

    /// What the state asks for, by name.
    private func actions(_ state: inout PoolState) -> [String] {
        var names: [String] = []
        while let action = state.nextAction() { names.append(action.words) }
        return names
    }

    /// The state asks for these, in this order, and for nothing else.
    private func expect(_ words: [String], of state: inout PoolState, at location: SourceLocation = #_sourceLocation) {
        let asked = actions(&state)
        #expect(asked == words, sourceLocation: location)
    }

    private func ready(free: Int, inFlight: Int = 0) -> ConnectionStatus {
        ConnectionStatus(phase: .ready, room: .init(free: free, inFlight: inFlight, capacity: free + inFlight))
    }

    @Test func `a connection is made for waiting pushes, and takes them when it is ready`() throws {
        var state = try self.state()
        let early = state.nextAllotment(of: 10, at: start)
        #expect(early == nil)
        state.spread(left: 10, at: start)
        expect(["dial 1"], of: &state)
        state.changed(1, to: ready(free: 100), waiting: 10, at: start)
        let allotment = state.nextAllotment(of: 10, at: start)
        #expect(allotment == ConnectionRoster.Allotment(id: 1, count: 10))
        let none = state.nextAllotment(of: 0, at: start)
        #expect(none == nil)
        expect([], of: &state)
    }

    @Test func `a draining connection is ended when nothing is in flight, and released when it is closed`() throws {
        var state = try self.state()
        state.spread(left: 1, at: start)
        _ = actions(&state)
        var status = ready(free: 0, inFlight: 1)
        status.phase = .draining(.usedUp)
        state.changed(1, to: status, waiting: 0, at: start)
        expect([], of: &state)
        status.room.inFlight = 0
        state.changed(1, to: status, waiting: 0, at: start)
        expect(["end 1 used_up"], of: &state)
        status.phase = .closed(.usedUp)
        status.answered = 1
        state.changed(1, to: status, waiting: 0, at: start)
        expect(["forget 1 used_up"], of: &state)
        state.changed(1, to: status, waiting: 0, at: start)
        expect([], of: &state)
    }

    @Test func `waiting pushes of a replaced credential are sent, and no connection stays open`() throws {
        var state = try self.state()
        state.spread(left: 5, at: start)
        _ = actions(&state)
        var old = ready(free: 0, inFlight: 1)
        state.changed(1, to: old, waiting: 5, at: start)
        state.credentialReplaced(waiting: 5)
        expect(["retire 1 replaced"], of: &state)
        old.phase = .closed(.replaced)
        old.room.inFlight = 0
        old.answered = 1
        state.changed(1, to: old, waiting: 5, at: start)
        expect(["forget 1 replaced"], of: &state)
        state.spread(left: 5, at: start)
        expect(["dial 2"], of: &state)
        state.changed(2, to: ready(free: 0, inFlight: 5), waiting: 0, at: start)
        expect([], of: &state)
        var last = ready(free: 5)
        state.changed(2, to: last, waiting: 0, at: start)
        state.spread(left: 0, at: start)
        expect(["end 2 replaced"], of: &state)
        last.phase = .closed(.replaced)
        state.changed(2, to: last, waiting: 0, at: start)
        expect(["forget 2 replaced"], of: &state)
        // The credential is in use again: its connections are kept.
        state.spread(left: 1, at: start)
        expect(["dial 3"], of: &state)
        state.changed(3, to: ready(free: 5), waiting: 0, at: start)
        expect([], of: &state)
    }

    @Test
    func `a connection that is idle, and old or of a replaced credential, ends when nothing waits any more`() throws {
        for isOld in [true, false] {
            var state = try self.state()
            state.spread(left: 5, at: start)
            if !isOld { state.credentialReplaced(waiting: 5) }
            _ = actions(&state)
            // Idle, with no room for what waits.
            var idle = ready(free: 0)
            if isOld { idle.phase = .old }
            state.changed(1, to: idle, waiting: 5, at: start)
            state.spread(left: 5, at: start)
            #expect(!actions(&state).contains { $0.hasPrefix("end 1 ") })
            state.spread(left: 0, at: start)
            expect([isOld ? "end 1 aged" : "end 1 replaced"], of: &state)
        }
    }

    @Test func `a refused credential ends the pushes that wait, and preparing returns`() throws {
        var state = try self.state()
        let mayWait = state.preparationBegan()
        #expect(mayWait)
        state.spread(left: 0, at: start)
        expect(["dial 1"], of: &state)
        var status = ready(free: 0)
        status.phase = .closed(.refused("BadCertificate"))
        state.changed(1, to: status, waiting: 5, at: start)
        let asked = Set(actions(&state))
        #expect(asked == ["give up", "end preparing", "forget 1 refused"])
    }

    @Test func `a provider token is fetched once, and nothing is sent before it is there`() throws {
        var state = try self.state(usesTokens: true)
        state.spread(left: 1, at: start)
        _ = actions(&state)
        state.changed(1, to: ready(free: 10), waiting: 1, at: start)
        for _ in 0..<3 {
            let allotment = state.nextAllotment(of: 1, at: start)
            #expect(allotment == nil)
        }
        expect(["fetch token"], of: &state)
        state.tokenFailed(PushError(.unreachable, "none"), at: start)
        expect(["give up"], of: &state)
    }

    @Test func `after a shutdown no connection is made, and new pushes end at once`() throws {
        var state = try self.state()
        state.spread(left: 1, at: start)
        _ = actions(&state)
        state.shutDown()
        expect(["end 1 shutdown", "give up"], of: &state)
        state.deliveryAdded()
        expect(["give up"], of: &state)
        let mayWait = state.preparationBegan()
        #expect(!mayWait)
        state.spread(left: 1, at: start)
        expect([], of: &state)
    }

    @Test func `a pool is outdated only when nothing is left in it`() throws {
        var state = try self.state()
        let busy = state.outdated(hasDeliveries: true)
        #expect(!busy && !state.isOutdated)
        let mayWait = state.preparationBegan()
        #expect(mayWait)
        let preparing = state.outdated(hasDeliveries: false)
        #expect(!preparing)
        state.preparationEnded()
        let empty = state.outdated(hasDeliveries: false)
        #expect(empty && state.isOutdated)
    }
}

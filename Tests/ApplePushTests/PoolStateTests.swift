import IO
import Testing

@testable import ApplePush

@Suite struct PoolStateTests {
    private typealias State = ConnectionPool.State

    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    private var random = SeededGenerator(seed: 1)

    /// A state with connections that have so many free streams each.
    private func state(limit: Int = 4, free: [Int]) -> State {
        var state = State(limit: limit)
        for free in free {
            var now = self.start
            while true {
                switch state.dial(waiting: 1, at: now) {
                case .now(let id): state.changed(id, to: .ready, free: 0, inFlight: 0, at: self.start)
                case .at(let later):
                    now = later
                    continue
                case .no: Issue.record("no connection is made")
                }
                break
            }
            _ = free
        }
        for (member, free) in zip(state.members, free) {
            state.changed(member.id, to: .ready, free: free, inFlight: 0, at: self.start)
        }
        return state
    }

    @Test func `nothing is connected before something waits`() {
        var state = State(limit: 4)
        #expect(state.dial(waiting: 0, at: self.start) == .no)
        #expect(state.members.isEmpty)
    }

    @Test func `the first push makes the first connection, and the next wait for it`() {
        var state = State(limit: 4)
        #expect(state.dial(waiting: 1, at: self.start) == .now(1))
        #expect(state.dial(waiting: 5000, at: self.start) == .no)
        #expect(state.shares(of: 5000).isEmpty)
        #expect(state.hasHope)
    }

    @Test func `no connection takes more pushes than it has streams`() {
        let state = self.state(free: [10, 1000])
        let shares = state.shares(of: 2000)
        #expect(shares.map(\.count) == [10, 1000])
    }

    @Test func `many pushes are spread evenly`() {
        #expect(self.state(free: [1000, 1000, 1000]).shares(of: 300).map(\.count) == [100, 100, 100])
    }

    @Test func `few pushes go together, on the oldest connection`() {
        let shares = self.state(free: [1000, 1000]).shares(of: 20)
        #expect(shares.map(\.count) == [20])
        #expect(shares.first?.id == 1)
    }

    @Test func `another connection is made only after pushes have waited for streams, and never beyond the limit`() {
        var state = self.state(limit: 2, free: [0])
        #expect(state.dial(waiting: 9, at: self.start) == .at(self.start + State.patience))
        #expect(state.dial(waiting: 9, at: self.start + .milliseconds(50)) == .at(self.start + State.patience))
        #expect(state.dial(waiting: 9, at: self.start + State.patience) == .now(2))
        state.changed(2, to: .ready, free: 0, inFlight: 9, at: self.start)
        #expect(state.dial(waiting: 9, at: self.start + .seconds(1)) == .no)
    }

    @Test func `a connection that has yet to prove itself is no reason to make another`() {
        var state = self.state(free: [1])
        state.changed(1, to: .proving, free: 1, inFlight: 0, at: self.start)
        #expect(state.shares(of: 9).map(\.count) == [1])
        state.changed(1, to: .proving, free: 0, inFlight: 1, at: self.start)
        #expect(state.dial(waiting: 9, at: self.start + .seconds(5)) == .no)
    }

    @Test func `patience begins anew when streams were free in between`() {
        var state = self.state(limit: 2, free: [0])
        _ = state.dial(waiting: 9, at: self.start)
        state.changed(1, to: .ready, free: 5, inFlight: 1, at: self.start)
        #expect(state.dial(waiting: 9, at: self.start + .milliseconds(60)) == .no)
        state.changed(1, to: .ready, free: 0, inFlight: 6, at: self.start)
        let later = self.start + .milliseconds(110)
        #expect(state.dial(waiting: 9, at: later) == .at(later + State.patience))
    }

    @Test func `a connection that drains is replaced at once, and takes nothing`() {
        var state = self.state(limit: 1, free: [10])
        state.changed(1, to: .draining, free: 10, inFlight: 5, at: self.start)
        #expect(state.shares(of: 5).isEmpty)
        #expect(!state.hasHope)
        #expect(state.dial(waiting: 5, at: self.start) == .now(2))
    }

    @Test func `after a connection that was of use the next is made at once`() {
        var state = self.state(free: [10])
        var random = self.random
        state.ended(1, wasOfUse: true, at: self.start, using: &random)
        #expect(state.dial(waiting: 1, at: self.start) == .now(2))
    }

    @Test func `failures make the next attempt wait, longer each time and at most half a minute`() {
        var state = State(limit: 4)
        var random = self.random
        var now = self.start
        var waits: [Duration] = []
        for _ in 0..<20 {
            switch state.dial(waiting: 1, at: now) {
            case .now(let id):
                state.ended(id, wasOfUse: false, at: now, using: &random)
            case .at(let later):
                waits.append(later - now)
                now = later
            case .no: Issue.record("no connection is made")
            }
        }
        #expect(waits.count == 10)
        #expect(waits[0] <= .milliseconds(200))
        #expect(waits[2...].allSatisfy { $0 >= .seconds(1) })
        #expect(waits.allSatisfy { $0 <= .seconds(30) })
        #expect(waits[9] >= .seconds(15))
        #expect(Set(waits).count == 10)
    }

    @Test func `only what has been idle for longer is closed, and nothing that is in use`() {
        var state = self.state(free: [10, 10])
        state.changed(2, to: .ready, free: 9, inFlight: 1, at: self.start)
        #expect(state.idle(longerThan: .seconds(10), at: self.start + .seconds(10)) == [])
        #expect(state.idle(longerThan: .seconds(10), at: self.start + .seconds(11)) == [1])
        #expect(state.nextIdle(after: .seconds(10)) == self.start + .seconds(10))
        state.changed(2, to: .ready, free: 10, inFlight: 0, at: self.start + .seconds(20))
        #expect(state.idle(longerThan: .seconds(10), at: self.start + .seconds(25)) == [1])
        #expect(state.idle(longerThan: .seconds(10), at: self.start + .seconds(31)) == [1, 2])
    }
}

import CarillonIO
import Testing

@testable import ApplePush

@Suite struct ConnectionRosterTests {
    private typealias State = ConnectionRoster

    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    private let random = SeededGenerator(seed: 1)

    /// A roster with connections that have these numbers of free streams.
    private func state(limit: Int = 4, free: [Int]) -> State {
        var state = State(limit: limit)
        for free in free {
            var now = start
            while true {
                switch dial(&state, waiting: 1, at: now) {
                case .now(let id): state.changed(id, to: .ready, Self.room(free: 0), at: start)
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
            state.changed(member.id, to: .ready, Self.room(free: free), at: start)
        }
        return state
    }

    private static func room(free: Int, inFlight: Int = 0) -> ConnectionStatus.Room {
        ConnectionStatus.Room(free: free, inFlight: inFlight, capacity: free + inFlight)
    }

    private func dial(_ state: inout State, waiting: Int, at now: MonotonicInstant) -> State.Dial {
        var random = self.random
        return state.dial(waiting: waiting, at: now, using: &random)
    }

    @Test func `no connection is made before a push waits`() {
        var state = State(limit: 4)
        let answer1 = dial(&state, waiting: 0, at: start)
        #expect(answer1 == .no)
        #expect(state.members.isEmpty)
    }

    @Test func `the first push makes the first connection, and the next wait for it`() {
        var state = State(limit: 4)
        let answer2 = dial(&state, waiting: 1, at: start)
        #expect(answer2 == .now(1))
        let answer3 = dial(&state, waiting: 5000, at: start)
        #expect(answer3 == .no)
        #expect(state.allotments(of: 5000).isEmpty)
        #expect(state.hasUsable)
    }

    @Test func `no connection takes more pushes than it has streams`() {
        let state = self.state(free: [10, 1000])
        let allotments = state.allotments(of: 2000)
        #expect(allotments.map(\.count) == [10, 1000])
    }

    @Test func `many pushes are spread evenly`() {
        #expect(state(free: [1000, 1000, 1000]).allotments(of: 300).map(\.count) == [100, 100, 100])
    }

    @Test func `few pushes go together, on the oldest connection`() {
        let allotments = state(free: [1000, 1000]).allotments(of: 20)
        #expect(allotments.map(\.count) == [20])
        #expect(allotments.first?.id == 1)
    }

    @Test func `another connection is made only after pushes have waited for streams, and never beyond the limit`() {
        var state = self.state(limit: 2, free: [0])
        let answer4 = dial(&state, waiting: 9, at: start)
        #expect(answer4 == .at(start + State.growthDelay))
        let answer5 = dial(&state, waiting: 9, at: start + .milliseconds(50))
        #expect(answer5 == .at(start + State.growthDelay))
        let answer6 = dial(&state, waiting: 9, at: start + State.growthDelay)
        #expect(answer6 == .now(2))
        state.changed(2, to: .ready, Self.room(free: 0, inFlight: 9), at: start)
        let answer7 = dial(&state, waiting: 9, at: start + .seconds(1))
        #expect(answer7 == .no)
    }

    @Test func `no other connection is made while one has yet to prove itself`() {
        var state = self.state(free: [1])
        state.changed(1, to: .proving, Self.room(free: 1, inFlight: 0), at: start)
        #expect(state.allotments(of: 9).map(\.count) == [1])
        state.changed(1, to: .proving, Self.room(free: 0, inFlight: 1), at: start)
        let answer8 = dial(&state, waiting: 9, at: start + .seconds(5))
        #expect(answer8 == .no)
    }

    @Test func `the delay begins again when streams were free in between`() {
        var state = self.state(limit: 2, free: [0])
        _ = dial(&state, waiting: 9, at: start)
        state.changed(1, to: .ready, Self.room(free: 5, inFlight: 1), at: start)
        let answer9 = dial(&state, waiting: 9, at: start + .milliseconds(60))
        #expect(answer9 == .no)
        state.changed(1, to: .ready, Self.room(free: 0, inFlight: 6), at: start)
        let later = start + .milliseconds(110)
        let answer10 = dial(&state, waiting: 9, at: later)
        #expect(answer10 == .at(later + State.growthDelay))
    }

    @Test func `a draining connection is replaced at once, and takes no pushes`() {
        var state = self.state(limit: 1, free: [10])
        state.changed(1, to: .draining(.usedUp), Self.room(free: 10, inFlight: 5), at: start)
        #expect(state.allotments(of: 5).isEmpty)
        #expect(!state.hasUsable)
        let answer11 = dial(&state, waiting: 5, at: start)
        #expect(answer11 == .now(2))
    }

    @Test func `after a useful connection the next is made at once`() {
        var state = self.state(free: [10])
        var random = self.random
        state.ended(1, by: .goneAway(reason: nil), answers: 1, at: start, using: &random)
        let answer12 = dial(&state, waiting: 1, at: start)
        #expect(answer12 == .now(2))
    }

    @Test func `failures delay the next connection, longer each time and at most half a minute`() {
        var state = State(limit: 4)
        var random = self.random
        var now = start
        var waits: [Duration] = []
        for _ in 0..<20 {
            switch dial(&state, waiting: 1, at: now) {
            case .now(let id):
                state.ended(id, by: .closedByPeer, answers: nil, at: now, using: &random)
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

    @Test func `only connections idle for longer are closed, and none in use`() {
        var state = self.state(free: [10, 10])
        state.changed(2, to: .ready, Self.room(free: 9, inFlight: 1), at: start)
        #expect(state.idle(longerThan: .seconds(10), at: start + .seconds(10)) == [])
        #expect(state.idle(longerThan: .seconds(10), at: start + .seconds(11)) == [1])
        #expect(state.nextIdle(after: .seconds(10)) == start + .seconds(10))
        state.changed(2, to: .ready, Self.room(free: 10, inFlight: 0), at: start + .seconds(20))
        #expect(state.idle(longerThan: .seconds(10), at: start + .seconds(25)) == [1])
        #expect(state.idle(longerThan: .seconds(10), at: start + .seconds(31)) == [1, 2])
    }

    @Test func `an old connection takes pushes until another can take its place`() {
        var state = self.state(limit: 1, free: [10])
        state.changed(1, to: .old, Self.room(free: 10), at: start)
        let unused = dial(&state, waiting: 0, at: start)
        #expect(unused == .no)
        state.changed(1, to: .old, Self.room(free: 5, inFlight: 5), at: start)
        #expect(state.allotments(of: 5).map(\.count) == [5])
        let successor = dial(&state, waiting: 0, at: start)
        #expect(successor == .now(2))
        let another = dial(&state, waiting: 99, at: start + .seconds(1))
        #expect(another == .no)
        state.changed(2, to: .proving, Self.room(free: 1), at: start)
        #expect(state.replaced.isEmpty)
        state.changed(2, to: .ready, Self.room(free: 10), at: start)
        #expect(state.replaced == [1])
        #expect(state.capacity == 20)
    }

    @Test func `the capacity is unknown until a connection has proved itself`() {
        var state = State(limit: 4)
        #expect(state.capacity == nil)
        _ = dial(&state, waiting: 1, at: start)
        #expect(state.capacity == nil)
        state.changed(1, to: .proving, Self.room(free: 1), at: start)
        #expect(state.capacity == nil)
        state.changed(1, to: .ready, Self.room(free: 900, inFlight: 100), at: start)
        #expect(state.capacity == 1_000)
        state.changed(1, to: .draining(.usedUp), Self.room(free: 0, inFlight: 100), at: start)
        #expect(state.capacity == nil)
    }

    @Test func `a connection is spare when the others had room for twice the load for a minute`() {
        var state = self.state(free: [100, 100])
        let minute = start + LoadGauge.period
        state.changed(1, to: .ready, Self.room(free: 50, inFlight: 50), at: start + .seconds(1))
        state.changed(1, to: .ready, Self.room(free: 100), at: start + .seconds(2))
        #expect(state.spare == nil)
        #expect(state.nextSpare == minute)
        state.changed(1, to: .ready, Self.room(free: 100), at: minute)
        #expect(state.spare == 2)
        state.changed(1, to: .ready, Self.room(free: 49, inFlight: 51), at: minute + .seconds(1))
        #expect(state.spare == nil)
    }

    @Test func `the last connection is never spare`() {
        var state = self.state(free: [100])
        state.changed(1, to: .ready, Self.room(free: 100), at: start + .seconds(600))
        #expect(state.spare == nil && state.nextSpare == nil)
    }

    @Test func `connections that are lost together are replaced together`() {
        var state = self.state(limit: 3, free: [0, 0, 0])
        var random = self.random
        #expect(state.target == 3)
        for id in 1...3 { state.ended(id, by: .goneAway(reason: nil), answers: 500, at: start, using: &random) }
        let dials = (0..<4).map { _ in dial(&state, waiting: 9, at: start) }
        #expect(dials == [.now(4), .now(5), .now(6), .no])
    }

    @Test func `if connections end before they have proved themselves, several are made at a time`() {
        var state = State(limit: 2)
        var random = self.random
        let first = dial(&state, waiting: 9, at: start)
        #expect(first == .now(1))
        state.changed(1, to: .proving, Self.room(free: 0, inFlight: 64), at: start)
        state.ended(1, by: .goneAway(reason: nil), answers: 64, at: start, using: &random)
        let dials = (0..<3).map { _ in dial(&state, waiting: 9, at: start) }
        #expect(dials == [.now(2), .now(3), .no])
        #expect(state.expectedAnswers == 64)
        state.changed(2, to: .ready, Self.room(free: 1_000), at: start)
        #expect(state.expectedAnswers == nil)
    }

    @Test func `a spare connection is not replaced at once`() {
        var state = self.state(limit: 2, free: [0, 0])
        var random = self.random
        state.ended(2, by: .spare, answers: 500, at: start, using: &random)
        let answer = dial(&state, waiting: 9, at: start)
        #expect(answer == .at(start + State.growthDelay))
    }

    @Test func `after a failure one connection is made, not several`() {
        var state = self.state(limit: 3, free: [0, 0, 0])
        var random = self.random
        for id in 1...3 { state.ended(id, by: .silent, answers: nil, at: start, using: &random) }
        let later = start + .seconds(60)
        let dials = (0..<2).map { _ in dial(&state, waiting: 9, at: later) }
        #expect(dials == [.now(4), .no])
    }
}

import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct HeartbeatStateTests {
    private let now = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    private func row(_ worker: Int64, _ beat: Int64, lease: Duration = .seconds(15), looksDead: Bool = false)
        -> HeartbeatState.Sighting
    {
        HeartbeatState.Sighting(worker: worker, beat: beat, lease: lease, looksDead: looksDead)
    }

    /// Looks once a second, and answers with the second at which worker 1 is dead.
    private func death(seconds: Int, _ beat: (Int) -> HeartbeatState.Sighting?) -> Int? {
        var state = HeartbeatState()
        for second in 0..<seconds {
            let now = self.now + .seconds(second)
            state.saw([beat(second)].compactMap(\.self), at: now)
            if state.dead(at: now).contains(where: { $0.worker == 1 }) { return second }
        }
        return nil
    }

    @Test func `a worker whose heartbeat rises is never dead, whatever the database's clock says`() {
        #expect(death(seconds: 100) { row(1, Int64($0 / 3), looksDead: true) } == nil)
    }

    @Test func `a worker is dead when its heartbeat has not changed for its lease`() {
        #expect(death(seconds: 100) { row(1, Int64(min($0, 10))) } == 25)
        #expect(death(seconds: 100) { row(1, Int64(min($0, 10)), lease: .seconds(40)) } == 50)
    }

    @Test func `a worker that was not watched for its lease is not dead, however old its heartbeat`() {
        #expect(death(seconds: 14) { _ in row(1, 7, looksDead: true) } == nil)
    }

    @Test func `a worker that signed off is forgotten`() {
        var state = HeartbeatState()
        state.saw([row(1, 7)], at: now)
        state.saw([], at: now + .seconds(5))
        state.saw([row(1, 7)], at: now + .seconds(10))
        #expect(state.dead(at: now + .seconds(20)).isEmpty)
        #expect(state.nextEnd == now + .seconds(25))
    }

    @Test func `until the others have been read, one of them may be dead`() {
        var state = HeartbeatState()
        #expect(state.hasSuspects)
        state.saw([row(1, 7)], at: now)
        #expect(!state.hasSuspects)
    }

    @Test func `a worker with a locked row gets a third of its lease more, and is not waited for`() {
        var state = HeartbeatState()
        state.saw([row(1, 7, looksDead: true)], at: now)
        #expect(state.hasSuspects)
        let end = now + .seconds(15)
        state.couldNotTakeOver(1, at: end)
        #expect(!state.hasSuspects)
        #expect(state.dead(at: end + .seconds(4)).isEmpty)
        #expect(state.dead(at: end + .seconds(5)).map(\.worker) == [1])
    }

    @Test func `after an outage of the database every worker gets a whole lease`() {
        var state = HeartbeatState()
        state.saw([row(1, 7), row(2, 8)], at: now)
        state.restart(at: now + .seconds(14))
        #expect(state.dead(at: now + .seconds(28)).isEmpty)
        #expect(state.dead(at: now + .seconds(29)).map(\.worker) == [1, 2])
    }
}

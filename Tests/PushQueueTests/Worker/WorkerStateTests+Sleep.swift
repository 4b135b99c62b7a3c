import ApplePush
import CarillonIO
import Testing

@testable import CarillonPushQueue

/// When a worker sleeps.
extension WorkerStateTests {
    /// A worker that can be called, and whose look at `now` has found rows in no other lanes.
    private func idle(_ state: WorkerState? = nil, with lanes: [Lane] = []) throws -> WorkerState {
        var state = try state ?? begin()
        state.sleep.connected(canBeNotified: true)
        state.sleep.announced()
        let look = state.lookBegan(at: now)
        _ = state.understood(lanes, at: now)
        _ = state.lookEnded(look, lanes, at: now)
        return state
    }

    private func answer(
        _ state: inout WorkerState,
        seeing others: [HeartbeatState.Sighting] = [],
        at now: MonotonicInstant
    ) -> (wait: Duration, dead: [Int64]) {
        let answer = SleepRows(isAlive: true, others: others)
        let (wait, dead) = state.sleepReturned(answer, askedAt: now, at: now)
        return (wait, dead.map(\.worker))
    }

    private func canClaim(_ state: WorkerState, at now: MonotonicInstant) -> Bool {
        var state = state
        return state.nextClaim(at: now) != nil
    }

    /// Whether the worker asks for sleep a second after its look.
    private func asks(_ state: WorkerState) -> Bool {
        var state = state
        return state.asks(at: now + .seconds(1))
    }

    @Test func `an idle worker asks whether it may sleep, and claims and renews nothing while it sleeps`() throws {
        var state = try idle()
        let later = now + .seconds(1)
        let asks = state.asks(at: later)
        _ = answer(&state, at: later)
        #expect(asks && !state.sleep.isAwake)
        #expect(state.heartbeatWait(at: now + .seconds(60)) == .seconds(3), "its lease has run out")
        _ = state.understood([first], at: later)
        #expect(!canClaim(state, at: later))
        // It is called, and its lease of before has not run out yet.
        let isCalled = state.sleep.called()
        let asksAgain = state.asks(at: later)
        let look = state.lookBegan(at: later)
        _ = state.lookEnded(look, [first], at: later)
        #expect(isCalled && !asksAgain && state.sleep.isAwake && state.sleep.mustAnnounce)
        #expect(canClaim(state, at: later))
    }

    @Test func `a worker that wakes after its lease renews it before it claims`() throws {
        var state = try idle()
        _ = state.asks(at: now + .seconds(1))
        _ = answer(&state, at: now + .seconds(1))
        let later = now + .seconds(100)
        state.sleep.wake(at: later)
        _ = state.understood([first], at: later)
        #expect(!canClaim(state, at: later))
        state.renewed(workersAlive: 1, askedAt: later)
        #expect(canClaim(state, at: later))
    }

    @Test
    func `a worker does not sleep while it has a claim, does maintenance, ends, or has rows that it can send`() throws {
        var busy = try begin(with: [first])
        let flight = try claim(&busy, at: now)
        busy = try idle(busy)
        var atWork = try idle()
        atWork.maintenance.began(.maintain)
        var draining = try idle()
        _ = draining.drainRequested()
        var full = try idle(with: [first])
        let once = try idle(begin { $0.once = true })
        for state in [busy, atWork, draining, full, once] { #expect(!asks(state)) }
        // And when that is over, it does.
        _ = end(flight, .accepted, in: &busy, at: now)
        busy = try idle(busy)
        atWork.maintenance.ended(.maintain)
        full = try idle(full)
        for state in [busy, atWork, full] { #expect(asks(state)) }
    }

    @Test func `rows of an app that cannot send keep no worker awake, and the next attempt wakes it`() throws {
        var state = try begin(with: [first])
        _ = end(try claim(&state, at: now), Outcome(.safe), in: &state, at: now)
        let holdEnd = try #require(state.holds.endTime(of: 1, at: now))
        state = try idle(state, with: [first])
        #expect(state.unsendable == [1])
        let asks = state.asks(at: now + .milliseconds(60))
        let (wait, _) = answer(&state, at: now + .milliseconds(60))
        #expect(asks && wait <= holdEnd - now)
        let asksAgain = state.asks(at: holdEnd)
        #expect(!asksAgain && state.sleep.isAwake)
        // It is about to try: this is no time to sleep.
        let look = state.lookBegan(at: holdEnd)
        _ = state.understood([first], at: holdEnd)
        _ = state.lookEnded(look, [first], at: holdEnd)
        state.sleep.announced()
        let then = state.asks(at: holdEnd + .seconds(1))
        #expect(!then)
    }

    /// Its app was held, for example, and is tried again once rows come or it is resumed.
    @Test(arguments: [true, false])
    func `a sleeper that is called for an app that was held tries it once its hold has ended`(hasEnded: Bool) throws {
        var state = try begin(with: [first])
        _ = end(try claim(&state, at: now), Outcome(.safe), in: &state, at: now)
        let holdEnd = try #require(state.holds.endTime(of: 1, at: now))
        state = try idle(state)
        let asks = state.asks(at: now + .milliseconds(60))
        _ = answer(&state, at: now + .milliseconds(60))
        #expect(asks && state.unsendable.isEmpty)
        let calledAt = hasEnded ? holdEnd : now + .milliseconds(70)
        _ = state.sleep.called()
        _ = state.asks(at: calledAt)
        let look = state.lookBegan(at: calledAt)
        _ = state.understood([first], at: calledAt)
        let wait = state.lookEnded(look, [first], at: calledAt)
        #expect(state.sleep.isAwake == hasEnded)
        if !hasEnded {
            #expect(wait <= holdEnd - calledAt)
            let asksAgain = state.asks(at: holdEnd)
            #expect(!asksAgain && state.sleep.isAwake)
        }
    }

    @Test func `a sleeper sees when the heartbeat of another worker has not changed for its lease`() throws {
        var state = try idle()
        _ = state.asks(at: now + .seconds(1))
        let other = HeartbeatState.Sighting(worker: 1, beat: 5, lease: .seconds(15))
        for second in 1...16 {
            let dead = answer(&state, seeing: [other], at: now + .seconds(second)).dead
            #expect(dead == (second == 16 ? [1] : []))
        }
    }

    @Test func `slow looks may be far apart, but after an outage missing heartbeats prove nothing`() throws {
        var state = try idle()
        _ = state.asks(at: now + .seconds(1))
        let other = HeartbeatState.Sighting(worker: 1, beat: 5, lease: .seconds(15))
        let another = HeartbeatState.Sighting(worker: 2, beat: 5, lease: .seconds(15))
        var dead: [[Int64]] = []
        for (others, second) in [([other], 1), ([other], 61), ([another], 62), ([another], 300)] {
            dead.append(answer(&state, seeing: others, at: now + .seconds(second)).dead)
        }
        #expect(dead == [[], [1], [], []])
    }
}

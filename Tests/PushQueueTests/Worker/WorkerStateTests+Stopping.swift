import ApplePush
import CarillonIO
import Testing

@testable import CarillonPushQueue

/// When a worker is done.
extension WorkerStateTests {
    @Test func `a draining worker claims and promotes nothing, and is done when all is settled`() throws {
        var state = try begin(with: [first, second])
        let flight = try claim(&state, at: now)
        let told = [state.drainRequested(), state.drainRequested()]
        #expect(told == [true, false])
        let plan = state.nextClaim(at: now)
        #expect(plan == nil)
        #expect(!state.promotes && !state.isDone)
        _ = end(flight, .accepted, in: &state, at: now)
        #expect(state.isDone)
    }

    @Test func `jobs of a claim under way when draining begins go back`() throws {
        var state = try begin(with: [first])
        let jobs = try claim(&state, at: now).jobs
        _ = state.drainRequested()
        let disposition = state.disposition(of: jobs, claimedAs: 7, at: now)
        if case .release = disposition {} else { Issue.record("\(disposition)") }
    }

    @Test func `a worker that gives up is done when all is settled, or when it no longer waits`() throws {
        var state = try begin(with: [first])
        _ = try claim(&state, at: now)
        let told = [state.giveUpRequested(), state.giveUpRequested(), state.drainRequested()]
        #expect(told == [true, false, false])
        #expect(!state.isDone)
        state.ended()
        #expect(state.isDone)
        var pace = BackOff.statements
        let wait = state.retryWait(&pace)
        #expect(wait == nil)
    }

    @Test func `with once a worker ends when it is idle and a look from the beginning has found nothing`() throws {
        var state = try begin(with: [first]) { $0.once = true }
        state.maintenance.ended(.channels)
        let flight = try claim(&state, at: now)
        let busy = state.lookBegan(at: now)
        _ = end(flight, .accepted, in: &state, at: now)
        _ = state.lookEnded(busy, [], at: now)
        #expect(!state.isDone, "that look may have been too early")
        let idle = state.lookBegan(at: now)
        _ = state.lookEnded(idle, [], at: now)
        #expect(state.isDone)
    }

    @Test func `with once a worker looks once for channels that were requested, and does not end before`() throws {
        var state = try begin { $0.once = true }
        #expect(state.maintenance.channelWait == .zero)
        let early = state.lookBegan(at: now)
        _ = state.lookEnded(early, [], at: now)
        #expect(!state.isDone)
        state.maintenance.ended(.channels)
        #expect(state.maintenance.channelWait == nil)
        let late = state.lookBegan(at: now)
        _ = state.lookEnded(late, [], at: now)
        #expect(state.isDone)
    }

    @Test func `with once a worker waits for jobs that went back for a moment, and for no retry`() throws {
        var state = try begin(with: [first]) { $0.once = true }
        state.maintenance.ended(.channels)
        var flight = try claim(&state, at: now, rows: 3)
        let busy = Outcome(.rejected, status: 503, reason: try #require(Reason(name: "ServiceUnavailable")))
        let outcomes = Outcomes([.accepted, Outcome(.safe), busy])
        let settlement = state.settlement(of: flight, outcomes, at: now)
        state.settled(&flight, settlement, outcomes, at: now)
        state.claimEnded(flight)
        let early = state.lookBegan(at: now + .milliseconds(50))
        _ = state.lookEnded(early, [], at: now + .milliseconds(50))
        #expect(!state.isDone)
        let late = state.lookBegan(at: now + .seconds(1))
        _ = state.lookEnded(late, [], at: now + .seconds(1))
        #expect(state.isDone)
    }

    @Test func `a look that leaves lanes out ends no worker with once, and puts none to sleep`() throws {
        var once = try begin { $0.once = true }
        once.maintenance.ended(.channels)
        var part = once.lookBegan(at: now)
        part.end = first
        _ = once.lookEnded(part, [], at: now)
        #expect(!once.isDone)

        var state = try begin()
        state.sleep.connected(canBeNotified: true)
        state.sleep.announced()
        part = state.lookBegan(at: now)
        part.end = first
        _ = state.lookEnded(part, [], at: now)
        let rest = state.lookBegan(at: now)
        _ = state.lookEnded(rest, [], at: now)
        #expect(rest.range.start == first && state.sleep.idleSince == nil)
        let whole = state.lookBegan(at: now)
        _ = state.lookEnded(whole, [], at: now)
        #expect(whole.range.start == nil && whole.range.maxSteps == nil && state.sleep.idleSince == now)
    }
}

import ApplePush
import CarillonIO
import Testing

@testable import CarillonPushQueue

/// What follows from the answer to a heartbeat.
extension WorkerStateTests {
    @Test func `a worker that was declared dead registers once, and sends no more under its earlier id`() throws {
        var state = try begin()
        let permit = state.lease.permit
        // When it wakes, two heartbeats may be under way.
        let told = [1, 2].map { _ in state.heartbeatReturned(nil, of: 7, askedAt: now) }
        #expect(told == [true, false])
        #expect(state.sleep.mustAnnounce)
        state.lease.registered(as: 8, askedAt: now)
        state.lease.registeringEnded()
        let late = [nil, 1].map { state.heartbeatReturned($0, of: 7, askedAt: now + .seconds(5)) }
        #expect(late == [false, false])
        #expect(!permit.allows(at: now) && state.lease.permit.allows(at: now + .seconds(14)))
        #expect(!state.lease.permit.allows(at: now + .seconds(15)))
    }

    @Test func `a worker that could not register again tries with its next heartbeat`() throws {
        var state = try begin()
        for _ in 1...2 {
            let mustRegister = state.heartbeatReturned(nil, of: 7, askedAt: now)
            #expect(mustRegister)
            state.lease.registeringEnded()
        }
    }
}

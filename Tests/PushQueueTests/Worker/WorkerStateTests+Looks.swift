import ApplePush
import Testing

@testable import CarillonPushQueue

/// What a worker does with the lanes that its looks find.
extension WorkerStateTests {
    @Test func `lanes of apps that are known do not wait for the rows of others`() throws {
        var state = try begin()
        let stranger = Lane(app: 99, number: 1)
        let unread = state.found([first, stranger], at: now)
        #expect(unread == [99])
        let early = plans(&state, at: now)
        #expect(early.map(\.lane) == [first])
        _ = state.read([], of: [99])
        _ = state.understood([first, stranger], at: now)
        let late = plans(&state, at: now)
        #expect(late.map(\.lane) == [stranger])
    }

    @Test func `while looks leave lanes out, each soon follows the last, however few lanes it has found`() throws {
        var state = try begin()
        func wait(to end: Lane?) -> Duration {
            var look = state.lookBegan(at: now)
            look.cost = .milliseconds(10)
            look.end = end
            return state.lookEnded(look, [first], at: now)
        }
        #expect(wait(to: nil) == .milliseconds(250))
        #expect(wait(to: first) == .milliseconds(30))
        #expect(wait(to: second) == .milliseconds(30))
        // The last part.
        #expect(wait(to: nil) == .milliseconds(30))
        #expect(wait(to: nil) == .milliseconds(250))
    }

    @Test func `with once each look continues where the last one ended, and a whole one ends the worker`() throws {
        var state = try begin { $0.once = true }
        state.maintenance.ended(.channels)
        // Of apps that do not exist: a part of these lanes is used at a time.
        let all = Set((1...3000).map { Lane(app: 1000 + $0, number: 1) })
        var left = all
        var steps = 0
        for _ in 0..<100 where !state.isDone {
            var look = state.lookBegan(at: now)
            let ahead = left.filter { lane in look.range.start.map { $0 < lane } ?? true }.sorted()
            let walked = Array(ahead.prefix(look.range.maxSteps ?? .max))
            steps += walked.count
            look.end = walked.count == look.range.maxSteps ? walked.last : nil
            let unread = state.found(walked, at: now)
            _ = state.read([], of: Array(unread))
            _ = state.understood(walked, at: now)
            while let plan = state.nextClaim(at: now) {
                let answer = self.answer(to: plan, rows: 1)
                _ = state.claimReturned(answer, to: plan, at: now)
                let flight = UnsettledClaim(try #require(answer.jobs), claimedAs: 7, returnedAt: now)
                _ = end(flight, .accepted, in: &state, at: now)
                left.remove(plan.lane)
            }
            _ = state.lookEnded(look, walked, at: now)
        }
        #expect(state.isDone && left.isEmpty)
        #expect(steps == all.count, "no lane is walked over twice")
    }
}

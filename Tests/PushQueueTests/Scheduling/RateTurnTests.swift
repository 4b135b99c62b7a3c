import IO
import Testing

@testable import PushQueue

/// A turn that a worker slept through.
@Suite struct RateTurnTests {
    @Test func `a turn can be used for half of the longest turn, and is missed after that`() {
        let now = MonotonicInstant.now
        let turn = RateTurn(in: .milliseconds(300), from: now)
        #expect(!turn.isMissed(at: now))
        #expect(!turn.isMissed(at: now + .milliseconds(300)))
        #expect(!turn.isMissed(at: now + .milliseconds(350)))
        #expect(turn.isMissed(at: now + .milliseconds(351)))
    }

    @Test func `a turn that begins at once is not missed, however long its answer took`() {
        let answeredAt = MonotonicInstant.now
        #expect(!RateTurn(in: .zero, from: answeredAt).isMissed(at: answeredAt))
    }
}

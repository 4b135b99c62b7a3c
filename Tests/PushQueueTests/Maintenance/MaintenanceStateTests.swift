import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct MaintenanceStateTests {
    /// The tasks that may be done beside a pass must not make it look as if it had ended.
    @Test
    func `a feedback pass that failed waits a minute, whatever else has begun and ended meanwhile`() throws {
        var state = MaintenanceState(WorkerOptions(), seed: 7)
        let usual = state.feedbackWait()
        #expect(try #require(usual) < .seconds(3))
        state.began(.feedback)
        for name in MaintenanceTask.Name.allCases where name != .feedback {
            state.began(name)
            state.finished(name)
        }
        let wait = state.feedbackWait()
        #expect(try #require(wait) > .seconds(45))
        state.finished(.feedback)
        let after = state.feedbackWait()
        #expect(try #require(after) < .seconds(3))
    }

    @Test
    func `a feedback pass that failed is not repeated every tenth of a second, however short the interval`() throws {
        var options = WorkerOptions()
        options.feedbackInterval = .milliseconds(200)
        var state = MaintenanceState(options, seed: 7)
        let usual = state.feedbackWait()
        #expect(try #require(usual) < .milliseconds(200))
        state.began(.feedback)
        let wait = state.feedbackWait()
        #expect(try #require(wait) > .seconds(1))
    }

    @Test func `a channel that could not be made is not tried again every second`() {
        var state = MaintenanceState(WorkerOptions(), seed: 7)
        #expect(state.channelWait == .seconds(1))
        state.began(.channels)
        #expect(state.channelWait == .seconds(60))
        state.finished(.channels)
        #expect(state.channelWait == .seconds(1))
    }

    @Test func `a sweep takes at most a twentieth of the time`() {
        var state = MaintenanceState(WorkerOptions(), seed: 7)
        #expect(state.sweepWait == .seconds(5))
        state.swept(in: .seconds(2))
        #expect(state.sweepWait == .seconds(40))
    }

    @Test func `a worker with once makes channels and is done, and runs no feedback pass`() {
        var options = WorkerOptions()
        options.once = true
        var state = MaintenanceState(options, seed: 7)
        let wait = state.feedbackWait()
        #expect(wait == nil && state.legacyFeedbackWait == nil)
        #expect(state.channelWait == .zero && !state.isDoneOnce)
        state.ended(.channels)
        #expect(state.channelWait == nil && state.isDoneOnce)
    }
}

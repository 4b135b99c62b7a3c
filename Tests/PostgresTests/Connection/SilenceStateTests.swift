import CarillonPostgres
import Testing

@Suite struct SilenceStateTests {
    private func steps(_ state: inout SilenceState, _ count: Int, arrivals: Int) -> [SilenceState.Step] {
        (0..<count).map { _ in state.observed(arrivals: arrivals, isWaiting: true) }
    }

    @Test func `a server that answers nothing is probed, and then left`() {
        var state = SilenceState()
        let steps = steps(&state, 1 + SilenceState.observations, arrivals: 7)
        #expect(steps.prefix(3).allSatisfy { $0 == .wait })
        #expect(steps.dropLast().contains(.probe))
        #expect(!steps.dropLast().contains(.leave))
        #expect(steps.last == .leave)
    }

    @Test func `one answer is enough to stay, and so is having nothing to answer`() {
        var state = SilenceState()
        _ = steps(&state, SilenceState.observations, arrivals: 7)
        #expect(state.observed(arrivals: 8, isWaiting: true) == .wait)
        #expect(!steps(&state, SilenceState.observations - 1, arrivals: 8).contains(.leave))
        #expect(state.observed(arrivals: 8, isWaiting: false) == .wait)
        #expect(!steps(&state, SilenceState.observations - 1, arrivals: 8).contains(.leave))
    }
}

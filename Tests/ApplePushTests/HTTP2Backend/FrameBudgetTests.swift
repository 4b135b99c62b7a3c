import CarillonIO
import Testing

@testable import ApplePush

@Suite struct FrameBudgetTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    @Test func `answers may have many frames each`() {
        var budget = FrameBudget(at: start)
        let answer1 = budget.allows(.init(frames: 201_000, answers: 10_000), at: start + .seconds(1))
        #expect(answer1)
        let answer2 = budget.allows(.init(frames: 201_001, answers: 10_000), at: start + .seconds(1))
        #expect(!answer2)
    }

    @Test func `a thousand frames without effect are allowed in each interval`() {
        var budget = FrameBudget(at: start)
        let answer3 = budget.allows(.init(frames: 1_000, answers: 0), at: start + .seconds(9))
        #expect(answer3)
        let answer4 = budget.allows(.init(frames: 1_001, answers: 0), at: start + .seconds(9))
        #expect(!answer4)
        let answer5 = budget.allows(.init(frames: 1_900, answers: 0), at: start + .seconds(10))
        #expect(answer5)
        let answer6 = budget.allows(.init(frames: 2_900, answers: 0), at: start + .seconds(19))
        #expect(answer6)
        let answer7 = budget.allows(.init(frames: 2_901, answers: 0), at: start + .seconds(19))
        #expect(!answer7)
    }

    @Test func `a window update for every few bytes of every request is allowed`() {
        var budget = FrameBudget(at: start)
        let usual = FrameBudget.Counts(windowUpdates: 80_000, requests: 1_000)
        let isUsualAllowed = budget.allows(usual, at: start + .seconds(1))
        #expect(isUsualAllowed)
        let small = FrameBudget.Counts(windowUpdates: 820_000, requests: 1_000, bodyBytes: 4_096_000)
        let isSmallAllowed = budget.allows(small, at: start + .seconds(2))
        #expect(isSmallAllowed)
    }

    @Test func `window updates without requests are not allowed`() {
        var budget = FrameBudget(at: start)
        let isAllowed = budget.allows(.init(windowUpdates: 1_101, requests: 1), at: start + .seconds(1))
        #expect(!isAllowed)
    }
}

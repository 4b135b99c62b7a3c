import CarillonIO
import Testing

@testable import ApplePush

@Suite struct FrameBudgetTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    @Test func `answers may have many frames each`() {
        var budget = FrameBudget(at: start)
        let answers = [201_000, 201_001].map {
            budget.allows(.init(frames: $0, answers: 10_000), at: start + .seconds(1))
        }
        #expect(answers == [true, false])
    }

    @Test func `a thousand frames without effect are allowed in each interval`() {
        var budget = FrameBudget(at: start)
        let answers = [(1_000, 9), (1_001, 9), (1_900, 10), (2_900, 19), (2_901, 19)].map { frames, seconds in
            budget.allows(.init(frames: frames, answers: 0), at: start + .seconds(seconds))
        }
        #expect(answers == [true, false, true, true, false])
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

    @Test func `requests of one interval may be answered in a later one`() {
        var budget = FrameBudget(at: start)
        // A thousand requests are in flight from the end of the first interval until the third.
        let requests = FrameBudget.Counts(requests: 1_000, bodyBytes: 4_096_000)
        var answers = [9, 10, 20].map { budget.allows(requests, at: start + .seconds($0)) }
        let windowUpdates = FrameBudget.Counts(windowUpdates: 80_000, requests: 1_000, bodyBytes: 4_096_000)
        answers.append(budget.allows(windowUpdates, at: start + .seconds(21)))
        // All answers begin before one of them ends.
        var begun = windowUpdates
        begun.frames = 2_000
        answers.append(budget.allows(begun, at: start + .seconds(22)))
        #expect(answers == Array(repeating: true, count: 5))
    }

    @Test func `allowances left from earlier intervals are limited`() {
        var budget = FrameBudget(at: start)
        var counts = FrameBudget.Counts(answers: 1_000_000, requests: 1_000_000)
        var answers = [budget.allows(counts, at: start + .seconds(9)), budget.allows(counts, at: start + .seconds(10))]
        counts.frames = 21_000
        counts.windowUpdates = 1_001_000
        answers.append(budget.allows(counts, at: start + .seconds(11)))
        counts.frames += 1
        answers.append(budget.allows(counts, at: start + .seconds(11)))
        counts.frames -= 1
        counts.windowUpdates += 1
        answers.append(budget.allows(counts, at: start + .seconds(11)))
        #expect(answers == [true, true, true, false, false])
    }

    @Test func `frames allowed without requests do not count in the next interval`() {
        var budget = FrameBudget(at: start)
        let answers = [(1_000, 1), (1_000, 10), (2_000, 11), (2_001, 11)].map { frames, seconds in
            budget.allows(.init(frames: frames), at: start + .seconds(seconds))
        }
        #expect(answers == [true, true, true, false])
    }

    @Test func `window updates without requests are not allowed`() {
        var budget = FrameBudget(at: start)
        let isAllowed = budget.allows(.init(windowUpdates: 1_101, requests: 1), at: start + .seconds(1))
        #expect(!isAllowed)
    }
}

import ApplePush
import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct LatencyWindowTests {
    @Test func `only what was measured within about a minute counts`() {
        let start = MonotonicInstant.now
        var window = LatencyWindow(at: start)
        var (waits, answers) = (DurationHistogram(), DurationHistogram())
        waits.add(nanoseconds: 2_000_000)
        answers.add(nanoseconds: 20_000_000)
        let first = window.read(waits: waits, answers: answers, at: start + .seconds(5))
        #expect(first.waits.reduce(0, +) == 1 && first.waits[1] == 1)
        #expect(first.answers.reduce(0, +) == 1 && first.answers[4] == 1)
        for second in stride(from: 10, through: 60, by: 5) {
            waits.add(nanoseconds: 100)
            let counts = window.read(waits: waits, answers: answers, at: start + .seconds(second)).waits
            #expect(counts[1] == 1 && counts[0] == Int64(second / 5 - 1))
        }
        // The first answer and the first wait are older than a minute by now.
        let last = window.read(waits: waits, answers: answers, at: start + .seconds(66))
        #expect(last.waits[1] == 0 && last.waits[0] == 11)
        #expect(last.answers.reduce(0, +) == 0)
    }
}

import TestSupport
import Testing

@testable import ApplePush

@Suite struct TrafficTests {
    @Test func `a sum has every count of both`() {
        var one = Traffic()
        one.connections = 1
        one.answerTimes.add(nanoseconds: 1)
        one.lateAnswers = 1
        one.ends = ["closed": 1]
        #expect(equalProperties(one, Traffic()).isEmpty, "a count that this test does not set")
        var sum = one
        sum += one
        #expect(equalProperties(sum, one).isEmpty)
    }

    @Test func `the meter takes every count of a connection's answers, and leaves none`() {
        var answers = AnswerTally()
        answers.answered(after: 1)
        answers.wasLate()
        #expect(equalProperties(answers, AnswerTally()).isEmpty, "a count that this test does not set")
        let meter = TrafficMeter()
        meter.take(&answers)
        #expect(unequalProperties(answers, AnswerTally()).isEmpty)
        #expect(unequalProperties(meter.reading, Traffic()) == ["answerTimes", "lateAnswers"])
    }
}

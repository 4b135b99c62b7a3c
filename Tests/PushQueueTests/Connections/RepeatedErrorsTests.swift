import IO
import Testing

@testable import PushQueue

@Suite struct RepeatedErrorsTests {
    private let now = MonotonicInstant(nanoseconds: 0)

    @Test func `the first error of a kind is told, and then one in half a minute with the number of the others`() {
        var errors = RepeatedErrors()
        var told: [Int: Int] = [:]
        for second in 0..<90 {
            if let untold = errors.heard("42P01", at: now + .seconds(second)) { told[second] = untold }
        }
        #expect(told == [0: 0, 30: 29, 60: 29])
    }

    @Test func `each kind is told for itself`() {
        var errors = RepeatedErrors()
        let told = ["42P01", "55P03", "42P01"].map { errors.heard($0, at: now) }
        #expect(told == [0, 0, nil])
    }

    @Test func `what fails again and again is tried more and more rarely, until it succeeds`() {
        var generator = SeededGenerator(seed: 1)
        var pace = RetryPace()
        let waits = (0..<8).map { _ in pace.failed(using: &generator) }
        for (wait, most) in zip(waits, [100, 200, 400, 800, 1600, 2000, 2000, 2000]) {
            #expect(wait >= .milliseconds(most / 2) && wait <= .milliseconds(most))
        }
        pace.succeeded()
        let wait = pace.failed(using: &generator)
        #expect(wait <= .milliseconds(100))
    }
}

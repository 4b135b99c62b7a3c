import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct BackOffTests {
    @Test func `waits grow while tries fail, and start again after a success`() {
        var generator = SeededGenerator(seed: 1)
        var backOff = BackOff.statements
        let waits = (0..<8).map { _ in backOff.next(using: &generator) }
        for (wait, most) in zip(waits, [100, 200, 400, 800, 1600, 2000, 2000, 2000]) {
            #expect(wait >= .milliseconds(most / 2) && wait <= .milliseconds(most))
        }
        backOff.reset()
        let wait = backOff.next(using: &generator)
        #expect(wait <= .milliseconds(100))
    }
}

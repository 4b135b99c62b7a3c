import CarillonIO
import Testing

@testable import CarillonSchema

@Suite struct LockPaceTests {
    @Test func `pauses grow to half a second, and the last is ten seconds after the first wait`() {
        var pace = LockPace()
        var generator = SeededGenerator(seed: 1)
        let first = MonotonicInstant(nanoseconds: 7)
        var now = first
        var pauses: [Duration] = []
        while let pause = pace.waitedInVain(at: now, using: &generator) {
            pauses.append(pause)
            now = now + pause
        }
        #expect(pauses.prefix(1).allSatisfy { $0 <= .milliseconds(50) })
        #expect(pauses.allSatisfy { $0 >= .milliseconds(25) && $0 <= .milliseconds(500) })
        #expect(pauses.suffix(5).allSatisfy { $0 >= .milliseconds(250) })
        #expect(now - first >= .seconds(10) && now - first < .seconds(11))
    }
}

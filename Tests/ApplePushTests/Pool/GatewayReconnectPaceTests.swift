import CarillonIO
import Testing

@testable import ApplePush

@Suite struct GatewayReconnectPaceTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    /// How many connections are made in that time, if each ends at once after that many answers.
    private func connections(within time: Duration, answers: Int) -> Int {
        var pace = GatewayReconnectPace()
        var random = SeededGenerator(seed: 1)
        var now = start
        var count = 0
        while now < start + time, count < 10_000 {
            pace.dialed(at: now, using: &random)
            count += 1
            now = now + .milliseconds(1)
            pace.succeeded(answers: answers)
            now = max(now, pace.earliest ?? now)
        }
        return count
    }

    @Test func `connections with many answers are replaced at once`() {
        #expect(connections(within: .seconds(1), answers: 100) == 1_000)
    }

    @Test func `connections with few answers are replaced at once at first, and then at a pace`() {
        #expect((16...18).contains(connections(within: .milliseconds(100), answers: 1)))
        #expect((16 + 70...16 + 130).contains(connections(within: .seconds(30), answers: 1)))
    }

    @Test func `after a pause many connections may be made at once again`() {
        var pace = GatewayReconnectPace()
        var random = SeededGenerator(seed: 1)
        for _ in 0..<16 { pace.dialed(at: start, using: &random) }
        #expect(pace.earliest != nil)
        let later = start + .seconds(60)
        for _ in 0..<15 { pace.dialed(at: later, using: &random) }
        let earliest = pace.earliest ?? later
        #expect(earliest <= later)
    }

    @Test func `delays after failures grow, and are random`() {
        var pace = GatewayReconnectPace()
        var random = SeededGenerator(seed: 1)
        var waits: [Duration] = []
        for _ in 0..<10 {
            pace.failed(at: start, using: &random)
            waits.append((pace.earliest ?? start) - start)
        }
        #expect(waits[0] <= .milliseconds(200))
        #expect(waits[9] >= .seconds(15) && waits[9] <= .seconds(30))
        #expect(Set(waits).count > 5)
        pace.succeeded(answers: 1)
        #expect(pace.failures == 0 && pace.earliest == nil)
    }
}

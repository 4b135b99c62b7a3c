import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct AppDoubtsTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    private let lane = Lane(app: 1, number: 1)
    private let other = Lane(app: 1, number: 2)

    @Test func `each lane of an app in doubt has one claim at a time, until a try is written`() {
        var doubts = AppDoubts()
        for _ in 0..<2 { doubts.claimed(lane) }
        #expect(doubts.mayClaim(lane) && !doubts.contains(1))
        doubts.refused(1, at: start)
        #expect(!doubts.mayClaim(lane) && doubts.mayClaim(other))
        doubts.ended(lane)
        #expect(!doubts.mayClaim(lane))
        doubts.ended(lane)
        #expect(doubts.mayClaim(lane) && doubts.contains(1))
        doubts.claimed(lane)
        #expect(!doubts.mayClaim(lane))
        #expect(doubts.written(1) && !doubts.written(1))
        #expect(doubts.mayClaim(lane) && !doubts.contains(1))
    }

    @Test func `settlements of apps in doubt leave a try to others`() {
        var (doubts, pace) = (AppDoubts(), RefusalPace())
        doubts.refused(1, at: start)
        for millisecond in 0..<1000 {
            while doubts.mayTry(1, at: start + .milliseconds(millisecond), &pace) {}
            if millisecond % 100 == 99 {
                let mayTry = pace.take(at: start + .milliseconds(millisecond))
                #expect(mayTry, "after \(millisecond) ms")
            }
        }
    }

    @Test func `of a hundred apps in doubt each is tried within a minute, with at most twenty tries a second`() {
        var (doubts, pace) = (AppDoubts(), RefusalPace())
        var random = SeededGenerator(seed: 1)
        var waits = (0..<100).map { _ in (due: start, backOff: BackOff.statements) }
        for app in 0..<100 { doubts.refused(Int32(app), at: start) }
        var tries: [(app: Int, second: Int)] = []
        for tick in 0..<6000 {
            let now = start + .milliseconds(tick * 10)
            for app in waits.indices where waits[app].due <= now {
                if doubts.mayTry(Int32(app), at: now, &pace) {
                    tries.append((app, tick / 100))
                    waits[app].backOff.reset()
                }
                waits[app].due = now + waits[app].backOff.next(using: &random)
            }
        }
        #expect(Set(tries.map(\.app)).count == 100)
        for second in 0..<60 { #expect(tries.count { $0.second == second } <= 20) }
    }

    @Test func `an app is forgotten after ten minutes without claims`() {
        var doubts = AppDoubts()
        for app: Int32 in [1, 2] { doubts.refused(app, at: start) }
        doubts.claimed(Lane(app: 2, number: 0))
        doubts.forgetIdle(at: start + .seconds(599))
        #expect(doubts.contains(1))
        doubts.forgetIdle(at: start + .seconds(600))
        #expect(!doubts.contains(1) && doubts.contains(2))
    }
}

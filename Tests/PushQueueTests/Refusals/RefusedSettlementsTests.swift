import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct RefusedSettlementsTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    private let lane = Lane(app: 1, number: 1)
    private let other = Lane(app: 1, number: 2)

    @Test func `each lane of an app whose settlement was refused has one claim at a time, until a try is written`() {
        var settlements = RefusedSettlements()
        for _ in 0..<2 { settlements.claimed(lane) }
        #expect(settlements.mayClaim(lane) && !settlements.contains(1))
        settlements.refused(1, at: start)
        #expect(!settlements.mayClaim(lane) && settlements.mayClaim(other))
        settlements.ended(lane)
        #expect(!settlements.mayClaim(lane))
        settlements.ended(lane)
        #expect(settlements.mayClaim(lane) && settlements.contains(1))
        settlements.claimed(lane)
        #expect(!settlements.mayClaim(lane))
        #expect(settlements.written(1) && !settlements.written(1))
        #expect(settlements.mayClaim(lane) && !settlements.contains(1))
    }

    @Test func `settlements of apps with a refused one leave a try to others`() {
        var (settlements, pace) = (RefusedSettlements(), RefusedStatementPace(seed: 1))
        settlements.refused(1, at: start)
        for millisecond in 0..<1000 {
            let now = start + .milliseconds(millisecond)
            while settlements.mayTry(1, at: now, hasTry: pace.take(at: now, leaving: 1)) {}
            if millisecond % 100 == 99 {
                let mayTry = pace.take(at: now)
                #expect(mayTry, "after \(millisecond) ms")
            }
        }
    }

    @Test func `each of a hundred apps is tried within a minute, with at most twenty tries a second`() {
        var (settlements, pace) = (RefusedSettlements(), RefusedStatementPace(seed: 1))
        var random = SeededGenerator(seed: 1)
        var waits = (0..<100).map { _ in (due: start, backOff: BackOff.statements) }
        for app in 0..<100 { settlements.refused(Int32(app), at: start) }
        var tries: [(app: Int, second: Int)] = []
        for tick in 0..<6000 {
            let now = start + .milliseconds(tick * 10)
            for app in waits.indices where waits[app].due <= now {
                if settlements.mayTry(Int32(app), at: now, hasTry: pace.take(at: now, leaving: 1)) {
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
        var settlements = RefusedSettlements()
        for app: Int32 in [1, 2] { settlements.refused(app, at: start) }
        settlements.claimed(Lane(app: 2, number: 0))
        settlements.forgetIdle(at: start + .seconds(599))
        #expect(settlements.contains(1))
        settlements.forgetIdle(at: start + .seconds(600))
        #expect(!settlements.contains(1) && settlements.contains(2))
    }
}

import CarillonIO
import CarillonPostgres
import Testing

@testable import CarillonPushQueue

@Suite struct DueFloorTests {
    private let now = MonotonicInstant(nanoseconds: 1_000_000_000)

    private func answer(_ time: Int64, id: Int64 = .max, cost: Duration = .zero, rows: Int = 0) -> PromotionRows {
        let promotions = [PromotionRows.Promotion(lane: Lane(app: 1, number: 1), lowest: 1, rows: rows)]
        return PromotionRows(promotions: promotions, next: DueFloor.Position(time: Moment(time), id: id), cost: cost)
    }

    @Test func `while looks are cheap, each begins at the beginning`() {
        var floor = DueFloor()
        for step in 1...5 as ClosedRange<Int64> {
            let start = floor.start(at: now + .seconds(step))
            #expect(start == .beginning)
            // Moving a thousand jobs takes its time.
            floor.moved(answer(step, cost: .milliseconds(90), rows: 1000), from: start, at: now + .seconds(step))
        }
        #expect(floor.isLow)
    }

    @Test func `expensive looks begin where the last ended, and at intervals a little before`() {
        var floor = DueFloor()
        floor.moved(answer(100, cost: .milliseconds(20)), from: .beginning, at: now)
        #expect(!floor.isLow)
        var starts: [Int64] = []
        for step in 1...60 as ClosedRange<Int64> {
            let time = now + .milliseconds(10 * step)
            let start = floor.start(at: time)
            starts.append(start.time.microseconds)
            floor.moved(answer(100 + step, cost: .milliseconds(20)), from: start, at: time)
        }
        // The first of all, and every tenth: from what looks had reached a quarter of a second before, at least.
        #expect(starts[0] == .min && starts[1...9].elementsEqual(101...109))
        #expect(starts[50] == 125 && starts[51...59].elementsEqual(151...159))
    }

    @Test func `a cheap sweep removes the floor, an expensive one does not`() {
        var floor = DueFloor()
        floor.moved(answer(100, cost: .milliseconds(20)), from: .beginning, at: now)
        floor.moved(answer(200, cost: .milliseconds(20)), from: .beginning, at: now + .seconds(5))
        #expect(!floor.isLow)
        floor.moved(answer(300), from: .beginning, at: now + .seconds(10))
        #expect(floor.isLow)
    }

    @Test func `after the clock was set back, every due job is found`() {
        var floor = DueFloor()
        for step in 0...5 as ClosedRange<Int64> {
            let start = floor.start(at: now + .seconds(step))
            floor.moved(answer(1000 + step, cost: .milliseconds(20)), from: start, at: now + .seconds(step))
        }
        let start = floor.start(at: now + .seconds(6))
        #expect(start.time > Moment(1000))
        floor.moved(answer(10), from: start, at: now + .seconds(6))
        #expect(floor.start(at: now + .seconds(7)).time == Moment(10))
    }
}

import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct PollingPaceTests {
    @Test func `waits grow while looks find nothing, with jitter, and are short again after work`() {
        var pace = PollingPace(seed: 1)
        var waits: [Duration] = []
        for _ in 0..<100 { waits.append(pace.foundNothing(after: .zero, idleFor: .zero)) }
        #expect(waits.allSatisfy { $0 <= PollingPace.longest && $0 >= .microseconds(2500) })
        #expect(Set(waits.suffix(50)).count > 40)
        #expect(waits.suffix(50).allSatisfy { $0 >= PollingPace.longest / 2 })
        do {
            let wait = pace.foundWork(after: .zero, isBusy: false, hasMoreLanes: false)
            #expect(wait == PollingPace.shortest)
        }
        do {
            let wait = pace.foundNothing(after: .zero, idleFor: .zero)
            #expect(wait <= PollingPace.shortest)
        }
    }

    @Test func `a worker that is about to sleep looks more often, with jitter too`() {
        var pace = PollingPace(seed: 4)
        var waits: [Duration] = []
        for _ in 0..<100 { waits.append(pace.foundNothing(after: .zero, idleFor: nil)) }
        #expect(waits.suffix(50).allSatisfy { (Duration.milliseconds(10)...Duration.milliseconds(20)).contains($0) })
        #expect(Set(waits.suffix(50)).count > 40)
    }

    @Test func `expensive looks are rare`() {
        var pace = PollingPace(seed: 2)
        do {
            let wait = pace.foundNothing(after: .milliseconds(30), idleFor: .zero)
            #expect(wait == .milliseconds(750))
        }
        do {
            let wait = pace.foundWork(after: .milliseconds(30), isBusy: true, hasMoreLanes: false)
            #expect(wait == .milliseconds(750))
        }
        do {
            let wait = pace.foundWork(after: .milliseconds(30), isBusy: true, hasMoreLanes: true)
            #expect(wait == .milliseconds(90))
        }
    }

    @Test func `a look that waited for a lock or a core does not count as expensive`() {
        var pace = PollingPace(seed: 1)
        _ = pace.foundWork(after: .milliseconds(5), isBusy: false, hasMoreLanes: false)
        let wait = pace.foundWork(after: .seconds(3), isBusy: false, hasMoreLanes: false)
        #expect(wait == .milliseconds(125))
    }

    @Test func `a worker that cannot sleep looks less and less often, but at least every second`() {
        var pace = PollingPace(seed: 3)
        var waits: [Duration] = []
        for seconds in [60, 300, 3600] {
            waits.append(pace.foundNothing(after: .zero, idleFor: .seconds(seconds)))
        }
        #expect(waits == [.milliseconds(100), .milliseconds(500), .milliseconds(900)])
    }

    @Test func `the wait after expensive looks has a limit`() {
        var pace = PollingPace(seed: 1)
        for _ in 0..<10 {
            let wait = pace.foundWork(after: .seconds(3), isBusy: false, hasMoreLanes: false)
            #expect(wait == .seconds(3))
        }
    }
}

import CarillonIO
import Testing

@testable import CarillonPostgres

@Suite struct CallQueueTests {
    private static let start = MonotonicInstant.now
    private static let longestWait = Duration.seconds(5)

    private static func at(_ seconds: Int) -> MonotonicInstant { start + .seconds(seconds) }

    /// Which of the calls have their turn at once.
    private static func come(_ calls: ClosedRange<Int>, to queue: inout CallQueue<Int>, at seconds: Int = 0) -> [Int] {
        calls.filter { queue.came($0, at: at(seconds)) }
    }

    @Test func `calls have their turn one after another, in the order in which they came`() {
        var queue = CallQueue<Int>()
        let first = Self.come(1...4, to: &queue)
        #expect(first == [1])
        for call in 2...4 {
            let (next, late) = queue.ended(at: Self.start, longestWait: Self.longestWait)
            #expect(next == call && late.isEmpty)
        }
        let (none, _) = queue.ended(at: Self.start, longestWait: Self.longestWait)
        let again = Self.come(5...6, to: &queue)
        #expect(none == nil && again == [5])
    }

    @Test func `behind a slow call, those that have waited too long lose their turn together`() {
        var queue = CallQueue<Int>()
        var atOnce = Self.come(1...40, to: &queue)
        atOnce += Self.come(41...41, to: &queue, at: 1) + Self.come(42...42, to: &queue, at: 2)
        #expect(atOnce == [1])
        let (next, late) = queue.ended(at: Self.at(5), longestWait: Self.longestWait)
        #expect(next == 41 && late == Array(2...40))
        let (last, later) = queue.ended(at: Self.at(7), longestWait: Self.longestWait)
        #expect(last == nil && later == [42])
        let again = Self.come(43...43, to: &queue, at: 7)
        #expect(again == [43])
    }

    @Test func `at the end, nobody who waits has a turn`() {
        var queue = CallQueue<Int>()
        _ = Self.come(1...3, to: &queue)
        let left = queue.closed()
        #expect(left == [2, 3])
        let (next, late) = queue.ended(at: Self.at(100), longestWait: Self.longestWait)
        #expect(next == nil && late.isEmpty)
    }
}

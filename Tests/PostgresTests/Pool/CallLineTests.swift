import CarillonIO
import Testing

@testable import CarillonPostgres

@Suite struct CallLineTests {
    private static let start = MonotonicInstant.now
    private static let longestWait = Duration.seconds(5)

    private static func at(_ seconds: Int) -> MonotonicInstant { start + .seconds(seconds) }

    /// Which of the calls have their turn at once.
    private static func come(_ calls: ClosedRange<Int>, to line: inout CallLine<Int>, at seconds: Int = 0) -> [Int] {
        calls.filter { line.came($0, at: at(seconds)) }
    }

    @Test func `calls have their turn one after another, in the order in which they came`() {
        var line = CallLine<Int>()
        let first = Self.come(1...4, to: &line)
        #expect(first == [1])
        for call in 2...4 {
            let (next, late) = line.ended(at: Self.start, longestWait: Self.longestWait)
            #expect(next == call && late.isEmpty)
        }
        let (none, _) = line.ended(at: Self.start, longestWait: Self.longestWait)
        let again = Self.come(5...6, to: &line)
        #expect(none == nil && again == [5])
    }

    @Test func `behind a slow call, those that have waited too long lose their turn together`() {
        var line = CallLine<Int>()
        var atOnce = Self.come(1...40, to: &line)
        atOnce += Self.come(41...41, to: &line, at: 1) + Self.come(42...42, to: &line, at: 2)
        #expect(atOnce == [1])
        let (next, late) = line.ended(at: Self.at(5), longestWait: Self.longestWait)
        #expect(next == 41 && late == Array(2...40))
        let (last, later) = line.ended(at: Self.at(7), longestWait: Self.longestWait)
        #expect(last == nil && later == [42])
        let again = Self.come(43...43, to: &line, at: 7)
        #expect(again == [43])
    }

    @Test func `at the end, nobody who waits has a turn`() {
        var line = CallLine<Int>()
        _ = Self.come(1...3, to: &line)
        let left = line.closed()
        #expect(left == [2, 3])
        let (next, late) = line.ended(at: Self.at(100), longestWait: Self.longestWait)
        #expect(next == nil && late.isEmpty)
    }
}

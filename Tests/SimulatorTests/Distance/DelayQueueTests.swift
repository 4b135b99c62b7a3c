import CarillonIO
import Testing

@testable import ApplePushSimulator

@Suite struct DelayQueueTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    @Test func `items come out in order, and not before the delay`() {
        var queue = DelayQueue(delay: .milliseconds(100), limit: 1_000)
        #expect(queue.nextDue == nil)
        queue.put(.bytes([1]), at: start)
        queue.put(.bytes([2]), at: start + .milliseconds(10))
        queue.put(.end, at: start + .milliseconds(20))
        #expect(queue.nextDue == start + .milliseconds(100))
        let early = queue.take(at: start + .milliseconds(99))
        #expect(early == nil)
        let first = queue.take(at: start + .milliseconds(100))
        let none = queue.take(at: start + .milliseconds(100))
        #expect(first == .bytes([1]) && none == nil)
        let second = queue.take(at: start + .milliseconds(500))
        let third = queue.take(at: start + .milliseconds(500))
        #expect(second == .bytes([2]) && third == .end)
        #expect(queue.nextDue == nil)
    }

    @Test func `thousands of items are neither lost nor reordered`() {
        var queue = DelayQueue(delay: .milliseconds(5), limit: 1_000_000)
        var taken: [Int] = []
        for number in 0..<5_000 {
            queue.put(.bytes([UInt8(number & 255), UInt8(number >> 8)]), at: start + .microseconds(number))
            while case .bytes(let bytes) = queue.take(at: start + .microseconds(number)) {
                taken.append(Int(bytes[0]) | Int(bytes[1]) << 8)
            }
        }
        while case .bytes(let bytes) = queue.take(at: .distantFuture) {
            taken.append(Int(bytes[0]) | Int(bytes[1]) << 8)
        }
        #expect(taken == Array(0..<5_000))
    }

    @Test func `a line is full at its limit, and has room again once items come out`() {
        var queue = DelayQueue(delay: .milliseconds(5), limit: 1_000)
        queue.put(.bytes(Array(repeating: 1, count: 900)), at: start)
        #expect(!queue.isFull)
        // Small items count more than their bytes.
        queue.put(.bytes([1]), at: start)
        #expect(queue.isFull)
        _ = queue.take(at: .distantFuture)
        #expect(!queue.isFull)
        for _ in 0..<100 { queue.put(.end, at: start) }
        #expect(queue.isFull)
        while queue.take(at: .distantFuture) != nil {}
        #expect(!queue.isFull)
        for _ in 0..<100 { queue.put(.bytes([1]), at: start) }
        #expect(queue.isFull)
        queue.close()
        #expect(!queue.isFull)
    }

    @Test func `a closed line keeps nothing`() {
        var queue = DelayQueue(delay: .milliseconds(5), limit: 1_000_000)
        queue.put(.bytes([1]), at: start)
        queue.close()
        queue.put(.bytes([2]), at: start)
        #expect(queue.nextDue == nil)
        let taken = queue.take(at: .distantFuture)
        #expect(taken == nil)
    }
}

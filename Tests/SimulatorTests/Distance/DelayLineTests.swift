import CarillonIO
import Testing

@testable import ApplePushSimulator

@Suite struct DelayLineTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    @Test func `items come out in order, and not before the delay`() {
        var line = DelayLine(delay: .milliseconds(100), limit: 1_000)
        #expect(line.nextDue == nil)
        line.put(.bytes([1]), at: start)
        line.put(.bytes([2]), at: start + .milliseconds(10))
        line.put(.end, at: start + .milliseconds(20))
        #expect(line.nextDue == start + .milliseconds(100))
        let early = line.take(at: start + .milliseconds(99))
        #expect(early == nil)
        let first = line.take(at: start + .milliseconds(100))
        let none = line.take(at: start + .milliseconds(100))
        #expect(first == .bytes([1]) && none == nil)
        let second = line.take(at: start + .milliseconds(500))
        let third = line.take(at: start + .milliseconds(500))
        #expect(second == .bytes([2]) && third == .end)
        #expect(line.nextDue == nil)
    }

    @Test func `thousands of items are neither lost nor reordered`() {
        var line = DelayLine(delay: .milliseconds(5), limit: 1_000_000)
        var taken: [Int] = []
        for number in 0..<5_000 {
            line.put(.bytes([UInt8(number & 255), UInt8(number >> 8)]), at: start + .microseconds(number))
            while case .bytes(let bytes) = line.take(at: start + .microseconds(number)) {
                taken.append(Int(bytes[0]) | Int(bytes[1]) << 8)
            }
        }
        while case .bytes(let bytes) = line.take(at: .distantFuture) {
            taken.append(Int(bytes[0]) | Int(bytes[1]) << 8)
        }
        #expect(taken == Array(0..<5_000))
    }

    @Test func `a line is full at its limit, and has room again once items come out`() {
        var line = DelayLine(delay: .milliseconds(5), limit: 1_000)
        line.put(.bytes(Array(repeating: 1, count: 900)), at: start)
        #expect(!line.isFull)
        // Small items count more than their bytes.
        line.put(.bytes([1]), at: start)
        #expect(line.isFull)
        _ = line.take(at: .distantFuture)
        #expect(!line.isFull)
        for _ in 0..<100 { line.put(.end, at: start) }
        #expect(line.isFull)
        while line.take(at: .distantFuture) != nil {}
        #expect(!line.isFull)
        for _ in 0..<100 { line.put(.bytes([1]), at: start) }
        #expect(line.isFull)
        line.close()
        #expect(!line.isFull)
    }

    @Test func `a closed line keeps nothing`() {
        var line = DelayLine(delay: .milliseconds(5), limit: 1_000_000)
        line.put(.bytes([1]), at: start)
        line.close()
        line.put(.bytes([2]), at: start)
        #expect(line.nextDue == nil)
        let taken = line.take(at: .distantFuture)
        #expect(taken == nil)
    }
}

import Testing

@testable import ApplePush

@Suite struct WindowSizeTests {
    @Test func `the window doubles up to its limit`() {
        var size = WindowSize(first: 1_000, limit: 5_000)
        let counts = (0..<4).map { _ in
            size.proved()
            return size.count
        }
        #expect(counts == [2_000, 4_000, 5_000, 5_000])
    }

    @Test func `after a loss the window is half as large, and grows slowly`() {
        var size = WindowSize(first: 1_000, limit: 100_000)
        size.lost()
        #expect(size.count == 500)
        size.proved()
        #expect(size.count == 563)
        for _ in 0..<20 { size.lost() }
        #expect(size.count == 1)
        size.proved()
        #expect(size.count == 2)
    }

    @Test func `a gateway that ignored a barrier gets no more of them`() {
        var size = WindowSize(first: 10, limit: 100)
        #expect(size.usesBarriers)
        size.ignoredBarrier()
        #expect(!size.usesBarriers)
    }

    @Test func `two connections that were open together and were closed on their barriers count once`() {
        var size = WindowSize(first: 10, limit: 100)
        let begin = size
        size.closedOnBarrier(since: begin)
        size.closedOnBarrier(since: begin)
        #expect(size.usesBarriers)
        size.closedOnBarrier(since: size)
        #expect(!size.usesBarriers)
    }

    @Test func `with each full window after which the gateway stays quiet, it grows as with a report`() {
        var size = WindowSize(first: 10, limit: 100)
        size.stayedQuiet(after: 10)
        #expect(size.count == 20)
        size.lost()
        size.stayedQuiet(after: 8)
        #expect(size.count == 12)
        // Its silence proved nothing.
        size.refuted()
        size.stayedQuiet(after: 6)
        #expect(size.count == 6)
    }

    @Test func `the first is never above the limit`() {
        #expect(WindowSize(first: 1_000, limit: 10).count == 10)
        #expect(WindowSize(first: 0, limit: 0).count == 1)
    }
}

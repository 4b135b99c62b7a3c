import IO
import Testing

@testable import ApplePush

@Suite struct SilenceAllowanceTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    @Test func `each silence is borne for as long as the one before, until all of them were too much`() {
        var patience = SilenceAllowance(each: .seconds(10))
        for drop in 0..<29 {
            let now = start + .seconds(20 * drop)
            #expect(patience.deadline(from: now) == now + .seconds(10))
            patience.waited(from: now, to: now + .seconds(10))
        }
        let now = start + .seconds(1000)
        patience.waited(from: now, to: now + .seconds(7))
        #expect(patience.deadline(from: now) == now + .seconds(3))
        patience.waited(from: now, to: now + .seconds(4))
        #expect(patience.deadline(from: now) == now)
    }

    @Test func `whoever waits for ever may`() {
        var patience = SilenceAllowance(each: .seconds(Int64.max))
        patience.waited(from: start, to: start + .seconds(1_000_000))
        #expect(patience.deadline(from: start) == .distantFuture)
    }
}

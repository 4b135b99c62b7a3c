import CarillonIO
import Testing

@testable import ApplePush

@Suite struct SilenceAllowanceTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    @Test func `each silence may be as long as the one before, until their sum is two minutes`() {
        var allowance = SilenceAllowance(each: .seconds(10))
        for drop in 0..<11 {
            let now = start + .seconds(10 * drop)
            #expect(allowance.deadline(from: now) == now + .seconds(10))
            allowance.waited(from: now, to: now + .seconds(10))
        }
        let now = start + .seconds(110)
        allowance.waited(from: now, to: now + .seconds(7))
        #expect(allowance.deadline(from: now) == now + .seconds(3))
        allowance.waited(from: now + .seconds(7), to: now + .seconds(11))
        #expect(allowance.deadline(from: now) == now)
    }

    @Test func `without a limit for each silence, one may last two minutes`() {
        var allowance = SilenceAllowance(each: .seconds(Int64.max))
        #expect(allowance.deadline(from: start) == start + .seconds(120))
        allowance.waited(from: start, to: start + .seconds(100))
        #expect(allowance.deadline(from: start) == start + .seconds(20))
        allowance.waited(from: start, to: start + .seconds(1_000_000))
        #expect(allowance.deadline(from: start) == start)
    }

    @Test func `the reader's own time counts as a second at most for each piece`() {
        var allowance = SilenceAllowance(each: .seconds(10))
        var now = start
        allowance.waited(from: now, to: now)
        for work in [Duration.milliseconds(500), .seconds(1), .seconds(3600)] {
            now = now + work
            allowance.waited(from: now, to: now)
        }
        allowance.waited(from: now, to: now + .milliseconds(117_400))
        #expect(!allowance.isOver)
        now = now + .milliseconds(117_500)
        allowance.waited(from: now, to: now)
        #expect(allowance.isOver)
    }
}

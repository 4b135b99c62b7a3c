import IO
import Testing

@testable import PushQueue

@Suite struct LeaseTests {
    private let start = MonotonicInstant(nanoseconds: 5_000_000_000)

    @Test func `a lease that was never granted proves nothing`() {
        #expect(!Lease(duration: .seconds(15)).holds(at: start))
    }

    @Test func `it holds from the asking, and ends before the others think so`() {
        var lease = Lease(duration: .seconds(15))
        lease.granted(askedAt: start)
        #expect(lease.holds(at: start + .milliseconds(14499)))
        #expect(!lease.holds(at: start + .milliseconds(14500)))
    }

    @Test func `an answer that comes late prolongs nothing`() {
        var lease = Lease(duration: .seconds(15))
        lease.granted(askedAt: start + .seconds(3))
        lease.granted(askedAt: start)
        #expect(lease.holds(at: start + .seconds(17)))
    }

    @Test func `once lost it is over at once`() {
        var lease = Lease(duration: .seconds(15))
        lease.granted(askedAt: start)
        lease.lost()
        #expect(!lease.holds(at: start))
    }
}

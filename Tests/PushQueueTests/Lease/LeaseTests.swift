import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct LeaseTests {
    private let start = MonotonicInstant(nanoseconds: 5_000_000_000)

    @Test func `a lease that was never granted is not valid`() {
        #expect(!Lease(duration: .seconds(15)).isValid(at: start))
    }

    @Test func `a lease begins when it is asked for, and ends early for its worker`() {
        var lease = Lease(duration: .seconds(15))
        lease.granted(askedAt: start)
        #expect(lease.isValid(at: start + .milliseconds(14499)))
        #expect(!lease.isValid(at: start + .milliseconds(14500)))
    }

    @Test func `a late answer does not extend a lease`() {
        var lease = Lease(duration: .seconds(15))
        lease.granted(askedAt: start + .seconds(3))
        lease.granted(askedAt: start)
        #expect(lease.isValid(at: start + .seconds(17)))
    }

    @Test func `a lost lease ends at once`() {
        var lease = Lease(duration: .seconds(15))
        lease.granted(askedAt: start)
        lease.lost()
        #expect(!lease.isValid(at: start))
    }
}

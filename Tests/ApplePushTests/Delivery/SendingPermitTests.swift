import CarillonIO
import Testing

@testable import ApplePush

@Suite struct SendingPermitTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    @Test func `a permit allows sending before its end, and not at it`() {
        let permit = SendingPermit(until: start)
        #expect(permit.allows(at: start + .nanoseconds(-1)))
        #expect(!permit.allows(at: start))
    }

    @Test func `extending a permit never shortens it`() {
        let permit = SendingPermit(until: start)
        permit.extend(until: start + .seconds(2))
        permit.extend(until: start + .seconds(1))
        #expect(permit.end == start + .seconds(2))
    }

    @Test func `a revoked permit stays revoked`() {
        let permit = SendingPermit(for: .seconds(60))
        #expect(permit.isInForce)
        permit.revoke()
        permit.extend(for: .seconds(60))
        #expect(!permit.isInForce)
    }
}

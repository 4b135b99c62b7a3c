import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct AdmissionTests {
    @Test func `one app cannot use the whole limit`() {
        var admission = Admission(limit: 100, claimSize: 100)
        #expect(admission.room(for: 1) == 75)
        admission.admit(75, of: 1)
        #expect(admission.room(for: 1) == 0)
        #expect(admission.room(for: 2) == 25)
        admission.release(50, of: 1)
        #expect(admission.inFlight == 25)
        #expect(admission.room(for: 1) == 50)
        #expect(admission.room(for: 2) == 75)
    }

    @Test(arguments: [1, 2, 3, 7, 1000]) func `every limit has room for one push`(limit: Int) {
        let admission = Admission(limit: limit, claimSize: 100)
        #expect(admission.room(for: 1) >= 1)
        #expect(admission.maxOfOneApp >= 1)
    }

    /// Each claim takes memory, however small it is.
    @Test func `claims of one push each are limited, and an app leaves as many to others as it has`() {
        var admission = Admission(limit: 8192, claimSize: 1000)
        var apps = AppDirectory()
        _ = apps.read([], of: [1, 2, 3])
        func allowance(of app: Int32) -> LaneBoard.Allowance {
            admission.allowance(of: app, within: .max, apps, AppHolds(seed: 1), at: .now)
        }
        func began(of app: Int32) -> Int {
            var claims = 0
            while admission.room(for: app) > 0, isOpen(allowance(of: app)) {
                admission.admit(1, of: app)
                admission.claimReturned(100, of: app)
                claims += 1
            }
            return claims
        }
        func isOpen(_ allowance: LaneBoard.Allowance) -> Bool { if case .pushes = allowance { true } else { false } }
        #expect(began(of: 1) == 512)
        #expect(began(of: 2) == 256)
        #expect(began(of: 3) == 128)
        #expect(began(of: 1) == 0)
        for _ in 0..<100 {
            admission.ended(100, of: 2)
            admission.release(1, of: 2)
        }
        #expect(began(of: 3) == 50)
    }
}

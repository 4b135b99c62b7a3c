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
}

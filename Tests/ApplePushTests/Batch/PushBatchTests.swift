import ApplePush
import Testing

@Suite struct PushBatchTests {
    @Test func `a batch returns what was added`() {
        var batch = PushBatch()
        let one = batch.addHeading(
            #"{"aps":{}}"#,
            topic: "org.example.app",
            pushType: .voip,
            priority: 5,
            expiration: 1_700_000_000,
            collapseID: "c"
        )
        let two = batch.addHeading("{}")
        let ids = [PushID.random(), .random(), .random()]
        batch.addPush("A1b2", heading: two, id: ids[0])
        batch.addPush("c3d4", heading: one, id: ids[1])
        batch.addPush("e5f6", heading: one, id: ids[2])

        #expect(batch.count == 3)
        #expect((0..<3).map { batch.token(of: $0) } == ["A1b2", "c3d4", "e5f6"])
        #expect((0..<3).map { batch.id(of: $0) } == ids)
        #expect(String(decoding: batch.payload(of: 0), as: UTF8.self) == "{}")
        #expect(String(decoding: batch.payload(of: 2), as: UTF8.self) == #"{"aps":{}}"#)
        #expect(batch.topic(of: 0) == nil)
        #expect(batch.topic(of: 1) == "org.example.app")
        #expect(batch.collapseID(of: 0) == nil)
        #expect(batch.collapseID(of: 1) == "c")
        #expect(batch.pushType(of: 0) == .alert)
        #expect(batch.pushType(of: 1) == .voip)
        #expect(batch.priority(of: 0) == nil)
        #expect(batch.priority(of: 1) == 5)
        #expect(batch.expiration(of: 0) == nil)
        #expect(batch.expiration(of: 1) == 1_700_000_000)
    }

    /// Apple reads a missing priority as 10, and refuses a background push for it.
    @Test(arguments: PushType.all)
    func `a push without a priority has the default of its type`(type: PushType) {
        var batch = PushBatch()
        for priority in [nil, 10, 5, 1] as [UInt8?] {
            let heading = batch.addHeading("{}", pushType: type, priority: priority)
            batch.addPush("A1b2", heading: heading)
        }
        #expect(batch.priority(of: 0) == (type == .background ? 5 : nil))
        #expect((1...3).map { batch.priority(of: $0) } == [10, 5, 1])
    }
}

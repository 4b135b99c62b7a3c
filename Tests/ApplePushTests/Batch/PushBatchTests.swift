import ApplePush
import Testing

@Suite struct PushBatchTests {
    @Test func `a batch returns what was added`() {
        var batch = PushBatch()
        let one = batch.addHeading(
            payload: #"{"aps":{}}"#.utf8Span.span.bytes,
            topic: "org.example.app".utf8Span.span.bytes,
            pushType: .voip,
            priority: 5,
            expiration: 1_700_000_000,
            collapseID: "c".utf8Span.span.bytes
        )
        let two = batch.addHeading(
            payload: "{}".utf8Span.span.bytes,
            topic: "".utf8Span.span.bytes,
            collapseID: "".utf8Span.span.bytes
        )
        let ids = [PushID.random(), .random(), .random()]
        batch.addPush(token: "A1b2".utf8Span.span.bytes, heading: two, id: ids[0])
        batch.addPush(token: "c3d4".utf8Span.span.bytes, heading: one, id: ids[1])
        batch.addPush(token: "e5f6".utf8Span.span.bytes, heading: one, id: ids[2])

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
            let heading = batch.addHeading(
                payload: "{}".utf8Span.span.bytes,
                topic: "".utf8Span.span.bytes,
                pushType: type,
                priority: priority,
                collapseID: "".utf8Span.span.bytes
            )
            batch.addPush(token: "A1b2".utf8Span.span.bytes, heading: heading, id: .random())
        }
        #expect(batch.priority(of: 0) == (type == .background ? 5 : nil))
        #expect((1...3).map { batch.priority(of: $0) } == [10, 5, 1])
    }
}

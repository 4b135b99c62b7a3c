import ApplePush
import Testing

/// `PushTypePageTests` has their topics.
@Suite struct PushTypeTests {
    @Test(arguments: PushType.all) func `each type is found by its name, and has its largest payload`(type: PushType) {
        #expect(PushType(name: type.name) == type)
        #expect(type.payloadLimit == (type == .voip ? 5120 : 4096))
    }

    @Test func `the types differ, and there is no other`() {
        #expect(Set(PushType.all.map(\.name)).count == PushType.all.count)
        #expect(PushType(name: "Alert") == nil)
        #expect(PushType.voip.name == "voip")
        #expect(PushType.widgets.name == "widgets")
        #expect(PushType.pushToTalk.name == "pushtotalk")
    }
}

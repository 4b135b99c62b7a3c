import ApplePush
import Testing

@Suite struct PushTypeTests {
    private static let suffixes = [
        ("alert", ""), ("background", ""), ("complication", ".complication"), ("controls", ".push-type.controls"),
        ("fileprovider", ".pushkit.fileprovider"), ("liveactivity", ".push-type.liveactivity"),
        ("location", ".location-query"), ("mdm", ""), ("pushtotalk", ".voip-ptt"), ("voip", ".voip"),
        ("widgets", ".push-type.widgets"),
    ]

    @Test(arguments: suffixes)
    func `each type has its name and its topic suffix`(name: String, suffix: String) throws {
        let type = try #require(PushType(name: name))
        #expect(type.name == name)
        #expect(type.topicSuffix == suffix)
        #expect(PushType.all.contains(type))
        #expect(type.payloadLimit == (name == "voip" ? 5120 : 4096))
    }

    @Test func `the types differ, and there is no other`() {
        #expect(PushType.all.map(\.name) == Self.suffixes.map(\.0))
        #expect(PushType(name: "Alert") == nil)
        #expect(PushType.voip.name == "voip")
        #expect(PushType.widgets.name == "widgets")
        #expect(PushType.pushToTalk.name == "pushtotalk")
    }
}

import ApplePush
import FoundationEssentials
import Testing

@Suite struct AlertTests {
    @Test func `an alert of one text is written as text, and its body is that text`() {
        let name = "Ann"
        let alert: APNs.Alert = "Hello \(name)"
        #expect(alert.json == "Hello Ann")
        #expect(alert.body == "Hello Ann")
        #expect(alert.title == nil)
        #expect(alert == APNs.Alert("Hello Ann"))
    }

    @Test func `each text is written plainly or as a key with arguments`() {
        let alert = APNs.Alert(
            title: .localized("TITLE", "a", "b"),
            subtitle: .localized("SUBTITLE"),
            body: .localized(key: "BODY", arguments: ["c"]),
            launchImage: "start.png",
            actionKey: "OPEN",
            members: ["summary-arg": "Ann", "summary-arg-count": 2]
        )
        #expect(
            alert.json == [
                "title-loc-key": "TITLE", "title-loc-args": ["a", "b"], "subtitle-loc-key": "SUBTITLE",
                "loc-key": "BODY", "loc-args": ["c"], "launch-image": "start.png", "action-loc-key": "OPEN",
                "summary-arg": "Ann", "summary-arg-count": 2,
            ]
        )
        #expect(alert.title == .localized("TITLE", "a", "b"))
        #expect(alert.subtitle == .localized("SUBTITLE"))
        #expect(alert.body == .localized("BODY", "c"))
        #expect(alert.launchImage == "start.png")
        #expect(alert.actionKey == "OPEN")
        #expect(alert.members["summary-arg"] == "Ann")
    }

    @Test func `a text that is set takes the place of its translation, and back`() {
        var alert = APNs.Alert(title: .localized("TITLE", "a"), body: "Hello")
        alert.title = "Dinner"
        alert.body = .localized("BODY")
        #expect(alert.json == ["title": "Dinner", "loc-key": "BODY"])
        alert.title = nil
        #expect(alert.json == ["loc-key": "BODY"])
    }

    @Test func `one text becomes the body when a title is set`() {
        var alert: APNs.Alert = "Hello"
        alert.title = "Ann"
        #expect(alert.json == ["title": "Ann", "body": "Hello"])
    }

    @Test func `members that have no name here are kept, and arguments of another kind are read as text`() throws {
        let text = #"{"loc-key":"K","loc-args":["a",7,1.5],"new":{"x":[1]}}"#
        let alert = try JSONDecoder().decode(APNs.Alert.self, from: Data(text.utf8))
        #expect(alert.body == .localized("K", "a", "7", "1.5"))
        let copy = try JSONDecoder().decode(APNs.JSON.self, from: JSONEncoder().encode(alert))
        #expect(copy == ["loc-key": "K", "loc-args": ["a", 7, 1.5], "new": ["x": [1]]])
    }

    @Test(arguments: ["7", "[]", "true", "null"])
    func `a value that is neither a text nor an object is no alert and no sound`(text: String) throws {
        let data = Data(text.utf8)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(APNs.Alert.self, from: data) }
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(APNs.Sound.self, from: data) }
        let json = try JSONDecoder().decode(APNs.JSON.self, from: data)
        #expect(APNs.Alert(json) == nil)
        #expect(APNs.Sound(json) == nil)
    }
}

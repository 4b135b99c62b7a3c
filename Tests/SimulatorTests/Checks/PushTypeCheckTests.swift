import CarillonPushRules
import Testing

@testable import ApplePushSimulator

/// Apple's table of push types, written a second time, so that a slip in ours is found.
@Suite struct PushTypeCheckTests {
    private struct Row {
        let name: String
        let suffix: String
        var priorities = ["10", "5", "1"]
        var payloadLimit = 4_096
        var takesCertificate = true
    }

    private static let table = [
        Row(name: "alert", suffix: ""),
        Row(name: "background", suffix: "", priorities: ["5"]),
        // Apple's page now says "h.complication", which is a slip.
        Row(name: "complication", suffix: ".complication"),
        Row(name: "controls", suffix: ".push-type.controls"),
        Row(name: "fileprovider", suffix: ".pushkit.fileprovider"),
        Row(name: "liveactivity", suffix: ".push-type.liveactivity", priorities: ["10", "5"]),
        Row(name: "location", suffix: ".location-query", takesCertificate: false),
        Row(name: "mdm", suffix: ""),
        Row(name: "nowplaying", suffix: ".push-type.nowplaying"),
        Row(name: "pushtotalk", suffix: ".voip-ptt"),
        Row(name: "voip", suffix: ".voip", payloadLimit: 5_120),
        Row(name: "widgets", suffix: ".push-type.widgets"),
    ]

    private func refusal(
        _ row: Row,
        priority: String = "5",
        payload: String = "{}",
        fields: KeyValuePairs<String, String> = [:],
        credential: ClientCredential = .providerToken
    ) -> APNsRefusal? {
        var request = SampleRequest(
            topic: "com.example.app" + row.suffix,
            ["apns-push-type": row.name, "apns-priority": priority]
        )
        for (name, value) in fields { request.fields.append((name, value)) }
        var check = RequestCheck(topics: [])
        return request.with(payload: payload).refusal(by: &check, credential: credential)
    }

    private func payload(of size: Int) -> String { #"{"a":""# + String(repeating: "x", count: size - 8) + #""}"# }

    @Test func `the push types are Apple's, and no others`() {
        #expect(PushTypeRules.all.map(\.name.description).sorted() == Self.table.map(\.name).sorted())
    }

    @Test(arguments: table.indices)
    func `each push type has Apple's suffix, and takes a certificate unless it is location`(index: Int) {
        let row = Self.table[index]
        #expect(refusal(row) == nil)
        let topic = "com.example.app" + row.suffix
        let certificate = ClientCredential.certificate(.init(topics: [topic]))
        #expect(refusal(row, credential: certificate) == (row.takesCertificate ? nil : .topicDisallowed))
    }

    @Test(arguments: table.indices) func `each push type has Apple's priorities`(index: Int) {
        let row = Self.table[index]
        for priority in ["10", "5", "1", "0", "9"] {
            let expected: APNsRefusal? = row.priorities.contains(priority) ? nil : .badPriority
            #expect(refusal(row, priority: priority) == expected, "\(row.name) \(priority)")
        }
    }

    @Test(arguments: table.indices) func `each push type has Apple's largest payload, to the byte`(index: Int) {
        let row = Self.table[index]
        #expect(refusal(row, payload: payload(of: row.payloadLimit)) == nil)
        #expect(refusal(row, payload: payload(of: row.payloadLimit + 1)) == .payloadTooLarge)
    }

    /// Only the three ways in which Apple's table has it: 0, a time, and none.
    @Test func `an expiration is 0, or any time in seconds, or left out`() {
        let alert = Self.table[0]
        #expect(refusal(alert) == nil)
        for time in ["0", "1", "1700000000", "4102444800"] {
            #expect(refusal(alert, fields: ["apns-expiration": time]) == nil, "\(time)")
        }
        for time in ["0x0", "+1", " 0", "1e9", "2026-12-01", "never"] {
            #expect(refusal(alert, fields: ["apns-expiration": time]) == .badExpirationDate, "\(time)")
        }
    }
}

import Testing

/// A shape of rows that takes much memory, as SQL that may use `n`, the number of the row.
struct LargeShape: Sendable, CustomTestStringConvertible {
    let name: String
    /// About as many pushes as may be in flight.
    var rows = 9000
    var pushes = 1
    var apps = 1
    var lane = "0"
    var tokens = "ARRAY[lpad(to_hex(n), 64, '0')]"
    var payload: String? = "'\(Self.content(4096))'::json"
    var payloads = "NULL::json[]"
    var pushType = "alert"
    var topic = "NULL"
    var collapseID = "lpad(n::text, 64, '0')"
    /// Why Carillon refuses each push; nil: the gateway accepts it.
    var reason: String?

    var testDescription: String { name }

    /// A payload of so many bytes.
    private static func content(_ bytes: Int) -> String {
        let frame = #"{"aps":{"alert":"Board"},"x":""}"#
        return #"{"aps":{"alert":"Board"},"x":"\#(String(repeating: "x", count: bytes - frame.utf8.count))"}"#
    }

    /// The app's own topic, as long as a topic may be, and that of its calls.
    static let longTopic = "com." + String(repeating: "x", count: 246)

    static let all = [
        LargeShape(name: "payloads that are too large", payload: "'\(content(8192))'::json", reason: "PayloadTooLarge"),
        LargeShape(
            name: "tokens of 2 KB",
            tokens: "ARRAY[repeat('ab', 968) || lpad(to_hex(n), 64, '0')]",
            reason: "MalformedToken"
        ),
        LargeShape(
            name: "the longest tokens that a claim takes",
            tokens: "ARRAY[repeat('ab', 330) || lpad(to_hex(n), 64, '0')]",
            reason: "MalformedToken"
        ),
        LargeShape(
            name: "tokens of 2 KB, a thousand each",
            rows: 9,
            pushes: 1000,
            tokens:
                "ARRAY(SELECT repeat('ab', 968) || lpad(to_hex(n * 1000 + t), 64, '0') FROM generate_series(1, 1000) t)",
            reason: "MalformedToken"
        ),
        LargeShape(
            name: "a payload for each token",
            rows: 90,
            pushes: 100,
            tokens: "ARRAY(SELECT lpad(to_hex(n * 1000 + t), 64, '0') FROM generate_series(1, 100) t)",
            payload: nil,
            payloads: """
                ARRAY(SELECT ('{"aps":{"alert":"' || lpad(t::text, 5, '0') || '"},"x":"' || repeat('x', 4063) || '"}')::json
                    FROM generate_series(1, 100) t)
                """
        ),
        LargeShape(
            name: "a thousand tokens",
            rows: 18,
            pushes: 1000,
            tokens: "ARRAY(SELECT lpad(to_hex(n * 1000 + t), 64, '0') FROM generate_series(1, 1000) t)"
        ),
        LargeShape(
            name: "the longest topic",
            payload: "'\(content(5120))'::json",
            pushType: "voip",
            topic: "'\(longTopic).voip'"
        ),
        LargeShape(
            name: "a collapse id that is too long",
            collapseID: "lpad(n::text, 255, '0')",
            reason: "MalformedCollapseId"
        ),
        LargeShape(name: "many apps", apps: 27),
        LargeShape(name: "many lanes", rows: Board.sized(6000, full: 20_000), lane: "n - 10000"),
    ]
}

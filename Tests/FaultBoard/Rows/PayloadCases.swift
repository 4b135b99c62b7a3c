import ApplePushSimulator
import CarillonPostgres
import TestSupport
import Testing

/// Payloads that are too large or malformed.
@Suite(.scene) struct PayloadCases {
    private static let voip = Scene.topic + ".voip"
    private static let asVoIP = [(name: "push_type", value: "'voip'"), (name: "topic", value: "'\(Self.voip)'")]

    /// A payload of that many bytes.
    private static func sized(_ bytes: Int, of letter: String = "x") -> String {
        let frame = #"{"aps":{"alert":""}}"#
        let room = bytes - frame.utf8.count
        let letters = String(repeating: letter, count: room / letter.utf8.count)
        let rest = String(repeating: " ", count: room % letter.utf8.count)
        return #"{"aps":{"alert":"\#(letters)"}\#(rest)}"#
    }

    @Test func `P1: a payload may have exactly its limit`() async throws {
        // So that its certificate allows voip pushes too.
        try await scene.certify([Scene.topic, Self.voip])
        try await scene.digest([
            OddRow(payload: Self.sized(4096), .sent),
            OddRow(payload: Self.sized(4097), .refused("PayloadTooLarge")),
            // Bytes are counted, not letters.
            OddRow(payload: Self.sized(4096, of: "🔔"), .sent),
            OddRow(payload: Self.sized(4098, of: "ü"), .refused("PayloadTooLarge")),
            OddRow(payload: Self.sized(4095) + "\n", .sent),
            OddRow(payload: Self.sized(4096) + "\n", .refused("PayloadTooLarge")),
            OddRow(payload: Self.sized(5121), .refused("PayloadTooLarge"), Self.asVoIP),
        ])
    }

    @Test func `P1: a voip payload may have 5120 bytes`() async throws {
        try await scene.certify([Scene.topic, Self.voip])
        let message = Ledger.Message(
            reference: "full",
            tokens: [Scene.token("", 1)],
            payload: Self.sized(5120),
            mayRepeat: true,
            topic: Self.voip
        )
        try await scene.enqueue(message, [("push_type", "'voip'")])
        try await scene.fleet.started()
        try await scene.finish()
    }

    @Test func `P1: enqueue refuses a payload that is too large, and accepts one that just fits`() async throws {
        for (size, type) in [(4097, "alert"), (5121, "voip"), (16 << 20, "alert")] {
            let payload = #"('{"aps":{"alert":"' || repeat('x', \#(size - 20)) || '"}}')::json"#
            let error = await #expect(throws: PostgresError.self, "\(size)") {
                try await scene.client.run(
                    "SELECT carillon.enqueue('board', '{aa}', payload => \(payload), push_type => '\(type)')"
                )
            }
            #expect(error?.sqlState == "54000")
            #expect(error?.message.contains("got \(size) bytes") == true, "\(error?.message ?? "")")
        }
        let message = Ledger.Message(
            reference: "fits",
            tokens: [Scene.token("", 1)],
            payload: Self.sized(4096),
            mayRepeat: true
        )
        try await scene.enqueue(message)
        try await scene.fleet.started()
        try await scene.finish()
    }

    @Test func `P1: rows of 16 MB fail by themselves, and no worker ever holds one`() async throws {
        let worker = try await scene.fleet.started()
        try await scene.enqueue(50)
        try await scene.requests(50)
        let before = try #require(worker.mostMemory)
        let count = 6
        var rows: [Ledger.Message] = []
        for _ in 1...count {
            let huge = #"('{"aps":{"alert":"' || repeat('x', 16777216) || '"}}')::json"#
            rows.append(try await scene.insert(OddRow("payload", huge, .refused("PayloadTooLarge"))))
            try await scene.enqueue(50)
        }
        try await scene.drained()
        // All of them together would be 96 MB, and libpq's buffer doubles.
        let after = try #require(worker.mostMemory)
        #expect(after - before < 24 << 20)
        let audit = try await scene.finish(localReasons: ["PayloadTooLarge"])
        for row in rows { #expect(audit.outcomes.failures[row.reference]?.map(\.reason) == ["PayloadTooLarge"]) }
    }

    // MARK: Shapes

    private static let notForJSON = [
        (#"('{"a":"' || chr(1) || '"}')::json"#, "22P02"), ("'{'::json", "22P02"), ("''::json", "22P02"),
        (#"convert_from('\x7b2261223a22ff227d', 'UTF8')::json"#, "22021"),
        (#"convert_from('\x7b2261223a2200227d', 'UTF8')::json"#, "22021"),
        // An encoded surrogate, and a slash that takes two bytes more than it needs.
        (#"convert_from('\x7b2261223a22eda080227d', 'UTF8')::json"#, "22021"),
        (#"convert_from('\x7b2261223a22c0af227d', 'UTF8')::json"#, "22021"),
        // A recursive parser would need a large stack for it.
        ("repeat('[', 1000000)::json", "54001"), (#"(U&'\FEFF' || '{}')::json"#, "22P02"),
        (#"'{"a":"\u00"}'::json"#, "22P02"),
    ]

    @Test func `P2: invalid JSON is refused by the INSERT, in the caller's transaction`() async throws {
        for (value, state) in Self.notForJSON {
            let error = await #expect(throws: PostgresError.self, "\(value)") {
                try await scene.insert(OddRow("payload", value, .sent))
            }
            #expect(error?.sqlState == state, "\(value): \(error?.message ?? "")")
        }
        #expect(try await scene.client.number("SELECT count(*) FROM carillon.messages") == 0)
        #expect(scene.ledger.pushes == 0)
    }

    /// That many nested arrays.
    private static func nested(_ depth: Int) -> String {
        #"{"a":"# + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "}"
    }

    private static let odd =
        ["[1]", #""text""#, "null", "true", "17", " \n\t[{}]", "-0.0e-7"].map {
            OddRow(payload: $0, .refused("MalformedPayload"))
        }
        + [
            "{}", "\r\n\t {\"aps\":{}}\n ", #"{"a":1,"a":2,"aps":{}}"#, #"{"a":"\u0000"}"#, #"{"a":"\ud800"}"#,
            #"{"\udc00\ud800":{"\\\"":"\/"}}"#, #"{"a":1e999999,"b":-0.0,"c":123456789012345678901234567890}"#,
            "{\"a\":\"\u{7F}\u{80}\u{FEFF}\u{202E}\u{FFFF}\u{10FFFF}\"}", #"{"":{"":[[],{},""]}}"#, Self.nested(2045),
        ].map { OddRow(payload: $0, .sent) }

    @Test func `P2: any JSON object is sent byte for byte, and another payload fails alone`() async throws {
        try await scene.digest(
            Self.odd + [
                OddRow(
                    "payload",
                    #"('{"a":' || repeat('[', 5000) || repeat(']', 5000) || '}')::json"#,
                    .refused("PayloadTooLarge")
                ),
                OddRow("payload", "NULL", .refused("PayloadEmpty")),
                OddRow("payloads", #"'{"{}"}'"#, .refused("MismatchedPayloads")),
            ]
        )
    }
}

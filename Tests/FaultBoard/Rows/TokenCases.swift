import ApplePushSimulator
import CarillonIO
import Testing

/// Malformed device tokens, and unusual numbers of them.
@Suite(.scene) struct TokenCases {
    private static let none = [
        "zz", "abc", "a", "", " ", "ab ", " ab", "0xab", "ab\r\nx: y", "ab\n", "\nab", "../../3/device/ab", "ab/../cd",
        "%00", "ab%0d%0a", "ab?x=y", "ab#cd", "ａｂ", "١٢", "äb", "aʹ", "ab\u{7F}", "ab\u{200B}", "🔔🔔", "'; --", "{ab}",
        String(repeating: "a", count: 513), String(repeating: "a", count: 514), String(repeating: "a", count: 1000),
        String(repeating: "ab", count: 50_000), String(repeating: "🔔", count: 300), "-1", "+1", "ab,cd", "\"ab\"",
        "NULL", "\\xab",
    ]

    @Test func `P3: malformed device tokens are refused, alone and among good ones`() async throws {
        var alone: [OddRow] = []
        for token in Self.none {
            // Of a device token that makes its row too large for a claim, the beginning is kept, with what distinguishes it.
            let kept = token.prefix(token.utf8.count == token.count ? 444 : 111) + "…"
            let tokens =
                token.utf8.count > 740
                ? [kept + (try await scene.client.text("encode(sha256('\(token)'), 'hex')"))] : [token]
            alone.append(OddRow("tokens", Self.array([token]), .refused("MalformedToken"), tokens: tokens))
        }
        // All in one row, between good ones: those are sent. With the longest, the row would be split.
        let some = Self.none.filter { $0.utf8.count <= 1200 }
        let good = (1...20).map { Scene.token("cc", $0) }
        let mixed = try await scene.insert(
            OddRow(
                "tokens",
                Self.array(Array(good[..<10]) + some + Array(good[10...])),
                .sent,
                tokens: good + some
            )
        )
        let audit = try await scene.digest(
            alone + [OddRow("tokens", "'{NULL}'", .refused("MalformedToken"), tokens: [""])]
        )
        #expect(audit.outcomes.results[mixed.reference]?.map(\.sent) == [good.count])
        #expect(audit.outcomes.failures[mixed.reference]?.count == some.count)
        #expect(scene.record.deliveries.allSatisfy { $0.token.allSatisfy { $0.isHexDigit } })
    }

    @Test func `P3: device tokens of other lengths or in capitals are left to Apple`() async throws {
        let upper = Scene.token("ABCDEF", 1)
        let longest = String(repeating: "cd", count: 100)
        let tooLong = String(repeating: "ce", count: 256)
        try await scene.digest([
            OddRow("tokens", Self.array([upper]), .sent, tokens: [upper]),
            OddRow("tokens", Self.array([longest]), .sent, tokens: [longest]),
            OddRow("tokens", Self.array([tooLong]), .rejected("400 BadDeviceToken"), tokens: [tooLong]),
            OddRow("tokens", "'{ab}'", .rejected("400 BadDeviceToken"), tokens: ["ab"]),
        ])
    }

    @Test func `P6: a row without tokens is finished, and arrays of any shape are read`() async throws {
        let four = (1...4).map { Scene.token("cc", $0) }
        let two = (5...6).map { Scene.token("cc", $0) }
        try await scene.digest([
            OddRow("tokens", "'{}'", .sent, tokens: []),
            OddRow("tokens", "'{{\(four[0]),\(four[1])},{\(four[2]),\(four[3])}}'", .sent, tokens: four),
            OddRow("tokens", "'[-3:-2]={\(two[0]),\(two[1])}'", .sent, tokens: two),
        ])
    }

    @Test func `P6: very many tokens with very many duplicates become one push for each distinct token`() async throws {
        let copies = Board.sized(8, full: 20)
        let distinct = Board.sized(4000, full: 250_000)
        let tokens = (1...distinct).map { Scene.token("cc", $0) }
        // Copy after copy, so that the copies of one device token are far apart.
        let list = """
            ARRAY(SELECT 'cc' || lpad(to_hex(n), 62, '0')
                FROM generate_series(1, \(copies)) c, generate_series(1, \(distinct)) n ORDER BY c, n)
            """
        try await scene.enqueue(100)
        let row = try await scene.insert(OddRow("tokens", list, .sent, tokens: tokens))
        try await scene.enqueue(100)
        try await scene.fleet.started(2, ["--max-in-flight", "2000"])
        let audit = try await scene.finish(within: Board.sized(.seconds(120), full: .seconds(900)))
        #expect(audit.outcomes.results[row.reference]?.map(\.sent) == [distinct])
        #expect(scene.record.deliveries.count { $0.token.hasPrefix("cc") } == distinct)
    }

    @Test func `P6: a message to millions of tokens is split, and each push ends once`() async throws {
        let count = Board.sized(50_000, full: 5_000_000)
        // All of them have expired, so that only the queue has work.
        let id = try await scene.client.number(
            """
            carillon.enqueue('board', ARRAY(SELECT lpad(to_hex(n), 64, '0') FROM generate_series(1, \(count)) n), 'x',
                expires_at => now() - interval '1 s')
            """
        )
        #expect(try await scene.client.number("SELECT count(*) FROM carillon.messages") == (count + 999) / 1000)
        try await scene.fleet.started(2)
        try await scene.drained(within: Board.sized(.seconds(60), full: .seconds(600)))
        #expect(
            try await scene.client.text(
                "SELECT (sum(r.expired), sum(r.sent + r.failed), count(*)) FROM carillon.results r WHERE r.broadcast_id = \(id)"
            ) == "(\(count),0,\((count + 999) / 1000))"
        )
        #expect(try await scene.client.text("SELECT p.finished FROM carillon.broadcast_progress(\(id)) p") == "true")
        #expect(scene.record.requests == 0)
    }

    private static func array(_ tokens: [String]) -> String {
        "ARRAY[" + tokens.map(OddRow.quoted).joined(separator: ",") + "]"
    }
}

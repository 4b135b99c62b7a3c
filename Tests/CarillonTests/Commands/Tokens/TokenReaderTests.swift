import Testing

@testable import Carillon

@Suite struct TokenReaderTests {
    /// The rows that a text of a header and these lines would give.
    private static func rows(_ rows: (String, Int64?, String?)...) -> TokenReaderOutput {
        var reading = TokenReaderOutput("")
        for (token, lastUpdate, owner) in rows {
            reading.batch.append(
                token: Array(token.utf8)[...],
                lastUpdate: lastUpdate,
                owner: owner.map { Array($0.utf8)[...] }
            )
        }
        reading.lines = reading.batch.count
        return reading
    }

    @Test(arguments: [
        "aa\nbb", "aa\r\nbb\r\n", "\u{FEFF}AA\n\n \nBB\n", "# ours, since 2020\naa\n#bb\nbb\n", "token\naa\nbb\n",
        "\u{FEFF}\"Token\"\r\naa\r\n\r\nbb", "<aa>\n\\xbb\n", "aa,,\nbb,\n",
    ])
    func `one token a line is enough`(text: String) {
        #expect(TokenReaderOutput(text) == Self.rows(("aa", nil, nil), ("bb", nil, nil)))
    }

    @Test(arguments: [
        "token,last_update,owner\naa,1700000000,me\nbb,,\"you, too\"\n",
        "OWNER;Token; last_update\nme;aa;1700000000\nyou, too;bb;\n", "aa,1700000000,me\nbb,,\"you, too\"",
        "aa\t1700000000\tme\r\nbb\t\tyou, too\r\n",
    ])
    func `columns are named by a header, or stand in the usual order`(text: String) {
        #expect(TokenReaderOutput(text) == Self.rows(("aa", 1_700_000_000_000_000, "me"), ("bb", nil, "you, too")))
    }

    @Test func `other columns are passed over`() {
        let reading = TokenReaderOutput("id,token,Device Name\n1,aa,#1\n2,bb,\"my\nphone\"\n3,cc\n")
        #expect(reading.otherColumns == ["id", "Device Name"])
        #expect(reading.count == 2 && reading.refusedLines == [5])
        #expect(reading.refusals[0].reason == "2 columns, where the header has 3")
    }

    @Test(arguments: [
        ("device_token,updated_at\naa,\n", "no column 'token'"), ("token,Token\naa,aa\n", "twice"),
        ("\u{1F}\u{8B}\u{8}", "nothing"), ("PK\u{3}\u{4}...", "spreadsheet"),
    ])
    func `a file of another kind is told at once`(text: String, reason: String) {
        let reading = TokenReaderOutput(text)
        #expect(reading.count == 0)
        #expect(reason == "nothing" || reading.error?.reason.contains(reason) == true)
        #expect(TokenReaderOutput([0x1F, 0x8B, 8, 0]).error?.reason.contains("zcat") == true)
        #expect(TokenReaderOutput([0xFF, 0xFE, 0x61, 0]).error?.reason.contains("UTF-16") == true)
    }

    @Test func `a refused line has its number and a reason, and the others are read`() {
        let text = """
            token,last_update,owner
            aa,2023-11-14,me
            bb,,\("ok")
            xx,,
            abc,,
            cc,2199-01-01T00:00:00Z,
            dd,,\(String(repeating: "x", count: 2049))
            "ee,,
            ff,,nul\0
            "aa
            bb",,
            a1,1751328000,
            a2,1751500000,

            """
        let reading = TokenReaderOutput(text)
        #expect(reading.count == 2 && reading.error == nil)
        #expect(reading.refusedLines == [2, 4, 5, 6, 7, 8, 9, 10, 13])
        let reasons = [
            "time zone", "not hex digits", "odd", "in the future", "longer than 2048", "quote", "NUL", "hex", "3",
            "future",
        ]
        for (refusal, reason) in zip(reading.refusals, reasons) {
            #expect(refusal.sentence.contains(reason), "\(refusal.sentence)")
        }
        #expect(reading.lines == 11)
    }

    @Test func `an owner that is no UTF-8 is refused`() {
        let reading = TokenReaderOutput(Array("aa,,".utf8) + [0xC3, 0x28, 10] + Array("bb,,ü\n".utf8))
        #expect(reading.refusedLines == [1] && reading.count == 1)
    }

    @Test func `refused lines can be corrected where they are kept`() {
        let reading = TokenReaderOutput("token,owner,last_update\nxx,\"a \"\"b\"\", c\",1700000000\n\"yy,,\n")
        let kept = RefusedLine.header + reading.refusals.map(\.csv).joined()
        #expect(reading.refusals.count == 2)
        let mended = kept.split(separator: "xx").joined(separator: "aa")
        let again = TokenReaderOutput(mended)
        #expect(again.otherColumns == ["line", "reason"])
        #expect(again.refusedLines == [3])
        var expected = Self.rows(("aa", 1_700_000_000_000_000, "a \"b\", c"))
        expected.otherColumns = again.otherColumns
        #expect(again.batch == expected.batch)
    }

    @Test func `a reader stops where the batch is full, and where much was refused`() throws {
        var reader = TokenReader(now: TokenReaderOutput.now)
        var batch = TokenBatch(now: TokenReaderOutput.now)
        var refusals: [RefusedLine] = []
        reader.feed(Array(String(repeating: "aa\n", count: 25).utf8)[...])
        reader.finish()
        #expect(try reader.read(into: &batch, upTo: 10, &refusals) == .full)
        #expect(batch.count == 10 && reader.line == 10)
        batch = TokenBatch(now: TokenReaderOutput.now)
        #expect(try reader.read(into: &batch, upTo: 16, &refusals) == .hungry)
        #expect(batch.count == 15 && refusals.isEmpty)
        reader.feed(Array(String(repeating: "x\n", count: 2500).utf8)[...])
        #expect(try reader.read(into: &batch, upTo: 16, &refusals) == .full)
        #expect(refusals.count == 1000 && refusals.last?.line == 1025)
    }
}

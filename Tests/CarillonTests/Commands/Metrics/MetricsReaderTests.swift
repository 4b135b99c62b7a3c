import CarillonIO
import TestSupport
import Testing

@testable import Carillon

@Suite struct MetricsReaderTests {
    /// 2026-11-30, at noon.
    private static let now: Int64 = 1_796_040_000_000_000
    private static let header = "Push Type,Status,Date (UTC),Count\n"

    /// All that a reader makes of a text.
    struct Output: Equatable {
        var counts: [MetricsReader.Count] = []
        var refusals: [RefusedLine] = []
        var lines = 0
        var error: CSVFileError?

        /// - Parameter size: how many bytes it is given at a time.
        init(_ bytes: [UInt8], by size: () -> Int = { .max }) {
            var reader = MetricsReader(now: now)
            var rest = bytes[...]
            var isFinished = false
            do throws(CSVFileError) {
                while true {
                    let isHungry = try reader.read(&counts, &refusals)
                    if isHungry, isFinished { break }
                    guard isHungry else { break }
                    isFinished = rest.isEmpty
                    let piece = rest.prefix(size())
                    if isFinished { reader.finish() } else { reader.feed(piece) }
                    rest = rest.dropFirst(piece.count)
                }
            } catch {
                self.error = error
            }
            lines = reader.lines
        }

        init(_ text: String) { self.init(Array(text.utf8)) }
    }

    @Test func `Apple's columns are read in any order, and others are ignored`() {
        let text = "\u{FEFF}count;DATE (utc);Status;App;Push Type\r\n12;2026-11-29;Stored - Device Offline;x;alert\r\n"
        #expect(
            Output(text).counts == [
                .init(day: "2026-11-29", pushType: "alert", status: "Stored - Device Offline", count: 12)
            ]
        )
    }

    @Test func `a day may have the time of its beginning, and -1 stands for a hidden count`() {
        let days = ["2026-11-28", "2026-11-28T00:00:00Z", "2026-11-28 00:00:00", " 2026-11-28 00:00:00.000 UTC "]
        let text = Self.header + days.map { "voip,\"delivered\",\($0),-1\n" }.joined()
        let output = Output(text)
        #expect(output.refusals.isEmpty, "\(output.refusals)")
        #expect(output.counts.count == days.count)
        #expect(output.counts.allSatisfy { $0.day == "2026-11-28" && $0.count == nil })
    }

    @Test(arguments: [
        ("alert,delivered,2026-11-29", "3 columns, where the header has 4"),
        ("alert,delivered,29.11.2026,1", "the date is not a day such as 2026-01-31: 29.11.2026"),
        ("alert,delivered,2026-02-30,1", "the date is not a day such as 2026-01-31: 2026-02-30"),
        ("alert,delivered,2026-11-29T01:00Z,1", "the date is not a day such as 2026-01-31: 2026-11-29T01:00Z"),
        ("alert,delivered,1999-01-01,1", "the date is not a day such as 2026-01-31: 1999-01-01"),
        ("alert,delivered,2026-12-01,1", "the date is in the future: 2026-12-01"),
        (",delivered,2026-11-29,1", "the push type is not text of 1 to 64 bytes"),
        ("alert,de\u{1B}[31m,2026-11-29,1", "the status is not text of 1 to 255 bytes: de\\u{1b}[31m"),
        ("alert,delivered,2026-11-29,-2", "the count is not a whole number from 0, or -1 for a hidden one: -2"),
        ("alert,delivered,2026-11-29,1.5", "the count is not a whole number from 0, or -1 for a hidden one: 1.5"),
        (
            "alert,delivered,2026-11-29,99999999999999999999",
            "the count is not a whole number from 0, or -1 for a hidden one: 99999999999999999999"
        ),
        ("\"alert,delivered,2026-11-29,1", "a quote is opened and never closed: \"alert,delivered,2026-11-29,1"),
    ])
    func `a line that says nothing is refused by its number`(line: String, reason: String) {
        let output = Output(Self.header + "alert,delivered,2026-11-29,1\n\(line)\nalert,stored,2026-11-29,2\n")
        #expect(output.refusals.map(\.sentence) == ["line 3: " + reason])
        #expect(output.counts.map(\.count) == [1, 2] && output.lines == 3)
    }

    @Test(arguments: [
        "alert,delivered,2026-11-29,1\n", "Date (UTC),Broadcasts Published\n2026-11-29,1\n", "\u{1F}\u{8B}\n",
    ])
    func `a file of another kind is not read`(text: String) {
        let output = Output(text)
        #expect(output.error != nil && output.counts.isEmpty)
    }

    @Test func `a file without lines says nothing`() {
        #expect(Output("").counts.isEmpty && Output("").error == nil)
        #expect(Output(Self.header).counts.isEmpty && Output(Self.header).error == nil)
    }
}

@Suite struct MetricsReaderFuzzTests {
    private static let pieces: [[UInt8]] =
        [
            "alert", "delivered", "2026-11-29", "-1", "12", ",", ",", ",", ";", "\t", "\n", "\n", "\r\n", "\"", "\"\"",
            " ",
            "T00:00Z", "2026-13-01", "9999999999999999999", "e", "ü", "\0", "\u{FEFF}", "Push Type",
            "\nalert,x,2026-11-29,1\n",
            String(repeating: "x", count: 300), String(repeating: "y", count: 70_000),
        ].map { Array($0.utf8) } + [[0xFF], [0xC3], [0x1F, 0x8B]]

    @Test func `each line of a file counts once, however its bytes arrive`() async {
        var rows = 0
        await Fuzzing.seeds(300) { seed in
            var random = SeededGenerator(seed: seed)
            var text = Array((seed & 3 == 0 ? "" : "Push Type,Status,Date (UTC),Count\n").utf8)
            // The longest pieces are at the end; a few of them are enough.
            let last = seed.isMultiple(of: 16) ? Self.pieces.count : Self.pieces.count - 4
            for _ in 0..<Int.random(in: 0...120, using: &random) {
                text += Self.pieces[Int.random(in: 0..<last, using: &random)]
            }
            let whole = MetricsReaderTests.Output(text)
            let byPieces = MetricsReaderTests.Output(text) {
                Int.random(in: 1...(text.count > 5_000 ? 9_000 : 9), using: &random)
            }
            let isSame = whole == byPieces
            #expect(isSame, "seed \(seed)")
            #expect(whole.counts.count + whole.refusals.count == whole.lines, "seed \(seed)")
            let lines = whole.refusals.map(\.line)
            let isEachOnce = lines == Array(Set(lines)).sorted()
            #expect(isEachOnce && whole.lines <= text.count { $0 == UInt8(ascii: "\n") } + 1, "seed \(seed)")
            #expect(whole.counts.allSatisfy { $0.day.utf8.count == 10 && !$0.pushType.isEmpty && !$0.status.isEmpty })
            rows += whole.counts.count
        }
        #expect(rows > 0)
    }
}

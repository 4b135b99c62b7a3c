import CarillonIO
import TestSupport
import Testing

@testable import Carillon

@Suite struct TokenReaderFuzzTests {
    private static let pieces: [[UInt8]] =
        [
            "aa", "00ff", "<aa bb>", "\\x0a", "token", "last_update", "owner", ",", ",", ";", "\t", "\n", "\n", "\r\n",
            "\r", "\"", "\"\"", "#", " ", "1700000000", "2023-11-14T22:13:20Z", "2023-11-14 22:13:20.5", "+01", "x",
            "token,last_update,owner\n", "\nab,1700000000\n", "\nab\n", "\n\"ab\",\"\"\n", "me", "ü", "\0", "\u{FEFF}",
            String(repeating: "ab", count: 300),
            String(repeating: "x", count: 70_000),
        ].map { Array($0.utf8) } + [[0xFF], [0xC3], [0x1F, 0x8B]]

    @Test func `each line of a file counts once, however its bytes arrive`() async {
        var rows = 0
        await Fuzzing.seeds(300) { seed in
            var random = SeededGenerator(seed: seed)
            var text: [UInt8] = seed & 1 == 0 ? Array("token,last_update\n".utf8) : []
            // The longest pieces are at the end; a few of them are enough.
            let last = seed.isMultiple(of: 16) ? Self.pieces.count : Self.pieces.count - 4
            for _ in 0..<Int.random(in: 0...120, using: &random) {
                text += Self.pieces[Int.random(in: 0..<last, using: &random)]
            }
            let whole = TokenReaderOutput(text)
            let byPieces = TokenReaderOutput(text) { _ in
                Int.random(in: 1...(text.count > 5_000 ? 9_000 : 9), using: &random)
            }
            let lines = text.count { $0 == UInt8(ascii: "\n") } + 1
            let isSame = whole == byPieces
            #expect(isSame, "seed \(seed)")
            #expect(whole.count + whole.refusals.count == whole.lines || whole.error != nil, "seed \(seed)")
            let isEachOnce = whole.refusedLines == Array(Set(whole.refusedLines)).sorted()
            #expect(whole.lines <= lines && whole.refusedLines.allSatisfy { $0 <= lines } && isEachOnce, "seed \(seed)")
            rows += whole.count
        }
        #expect(rows > 0)
    }
}

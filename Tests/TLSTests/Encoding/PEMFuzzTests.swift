import CarillonIO
import TestSupport
import Testing

@testable import CarillonTLS

@Suite struct PEMFuzzTests {
    /// What a reader does who knows no haste: it looks for the end of each block through the whole rest of the text.
    private static func naive(_ text: [UInt8]) -> [(label: [UInt8], range: Range<Int>)] {
        func find(_ word: [UInt8], from start: Int) -> Int? {
            guard start + word.count <= text.count else { return nil }
            return (start...text.count - word.count).first { text[$0..<$0 + word.count].elementsEqual(word) }
        }
        var blocks: [(label: [UInt8], range: Range<Int>)] = []
        var position = 0
        while let begin = find(Array("-----BEGIN ".utf8), from: position) {
            position = begin + 11
            guard let labelEnd = find(Array("-----".utf8), from: position), labelEnd - position < 64 else { continue }
            let label = Array(text[position..<labelEnd])
            let closing = Array("-----END ".utf8) + label + Array("-----".utf8)
            guard let end = find(closing, from: labelEnd) else { continue }
            position = end + closing.count
            blocks.append((label, begin..<position))
        }
        return blocks
    }

    /// What texts of PEM are made of, and what looks like it.
    private static let pieces = [
        "-----BEGIN ", "-----BEGIN ", "-----END ", "-----END ", "-----", "-----", "-----\n", "A", "A", "B", "A B", "-",
        "\n",
        "CERTIFICATE", "MIIB", "BEGIN ", "END ", String(repeating: "L", count: 58), String(repeating: "-", count: 9),
        "é",
    ]

    @Test func `blocks are found as a naive reading finds them`() async {
        var found = 0
        await Fuzzing.seeds(3_000) { seed in
            var random = SeededGenerator(seed: seed)
            var text: [UInt8] = []
            for _ in 0..<Int.random(in: 0..<40, using: &random) {
                text += Array(Self.pieces[Int.random(in: 0..<Self.pieces.count, using: &random)].utf8)
            }
            let expected = Self.naive(text)
            let blocks = PEM(text).blocks
            found += expected.count
            #expect(blocks.map(\.range) == expected.map(\.range), "seed \(seed)")
            #expect(blocks.map(\.label) == expected.map { String(decoding: $0.label, as: UTF8.self) }, "seed \(seed)")
        }
        #expect(found > 100)
    }
}

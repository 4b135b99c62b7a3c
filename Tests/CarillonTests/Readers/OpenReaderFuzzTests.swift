import CarillonIO
import TestSupport
import Testing

/// What costs the sender little must not cost the service much: a reader's processor time grows with the bytes, not with their
/// square.
@Suite struct OpenReaderFuzzTests {
    private static let hostile = Growth.hostileTexts + ["\0", "a", "1", "é", "\u{FEFF}", "\u{10FFFF}", "]]>", "[", "{"]

    /// A beginning, a few pieces over and over, and an end.
    private static func input(_ pieces: [String], bytes: Int, using random: inout SeededGenerator) -> [UInt8] {
        func some(_ max: Int) -> [UInt8] {
            (0..<Int.random(in: 0...max, using: &random)).flatMap { _ -> [UInt8] in
                switch Int.random(in: 0..<8, using: &random) {
                case 0: [UInt8.random(in: 0...255, using: &random)]
                case 1, 2: Array(hostile.randomElement(using: &random)?.utf8 ?? "".utf8)
                default: Array((pieces.randomElement(using: &random) ?? "a").utf8)
                }
            }
        }
        var text = some(8)
        let unit = some(4)
        while text.count < bytes, !unit.isEmpty { text += unit }
        return text + some(8)
    }

    @Test(arguments: OpenReader.all)
    func `any input is read without a crash, in time that grows with its bytes`(reader: OpenReader) async {
        await Fuzzing.seeds(24) { seed in
            var random = SeededGenerator(seed: seed)
            let bytes = [16, 1_024, 32_768, 131_072][Int.random(in: 0..<4, using: &random)]
            let input = Self.input(reader.pieces + [""], bytes: bytes, using: &random)
            let seconds = Growth.seconds { reader.read(input) }
            let isLinear = Growth.isLinear(seconds, bytes: input.count) { reader.read(Array(input.prefix($0))) }
            #expect(isLinear, "\(reader.name), seed \(seed): \(seconds) s")
        }
    }

    @Test(arguments: OpenReader.all)
    func `no byte costs more in a long text than in a short one`(reader: OpenReader) async {
        for text in Growth.hostileTexts + reader.pieces {
            await Computing.run {
                let input = Array(("a" + String(repeating: text, count: 131_072 / text.utf8.count)).utf8)
                let seconds = Growth.seconds { reader.read(input) }
                let isLinear = Growth.isLinear(seconds, bytes: input.count) { reader.read(Array(input.prefix($0))) }
                #expect(isLinear, "\(reader.name), \(text): \(seconds) s")
            }
        }
    }

    @Test func `a reader that looks at all bytes before each byte would be found`() async {
        await Computing.run {
            let input = [UInt8](repeating: 97, count: 16_384)
            func read(_ bytes: Int) {
                for end in 0..<bytes {
                    var place = 0
                    while place < end, input[place] == 97 { place += 1 }
                }
            }
            let seconds = Growth.seconds { read(input.count) }
            let isLinear = Growth.isLinear(seconds, bytes: input.count, read)
            #expect(!isLinear, "\(seconds) s")
        }
    }
}

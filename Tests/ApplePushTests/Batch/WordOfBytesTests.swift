import CarillonIO
import TestSupport
import Testing

@testable import ApplePush

@Suite struct WordOfBytesTests {
    private static func isWithin(_ range: ClosedRange<UInt8>, _ bytes: [UInt8]) -> Bool {
        bytes.span.bytes.isWithin(range)
    }

    private static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool { left.span.bytes.equals(right.span.bytes) }

    @Test func `a byte is within a range wherever it stands, and whatever is beside it`() {
        for range: ClosedRange<UInt8> in [0x21...0x7e, 0x00...0x7f, 0x30...0x39, 0x00...0x00, 0x7f...0x7f] {
            for byte in UInt8.min...UInt8.max {
                for place in 0..<19 {
                    for other in [range.lowerBound, range.upperBound] {
                        var bytes = [UInt8](repeating: other, count: 19)
                        bytes[place] = byte
                        if Self.isWithin(range, bytes) != range.contains(byte) {
                            Issue.record("\(byte) at \(place), in \(range)")
                        }
                    }
                }
            }
        }
    }

    @Test func `no bytes are within any range`() {
        #expect(Self.isWithin(0x21...0x7e, []))
    }

    @Test func `bytes are equal only if each is, and their number`() async {
        await Fuzzing.seeds(1_000) { seed in
            var random = SeededGenerator(seed: seed)
            let bytes = (0..<Int.random(in: 0..<40, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            #expect(Self.areEqual(bytes, bytes), "seed \(seed)")
            #expect(!Self.areEqual(bytes, bytes + [0]), "seed \(seed)")
            for place in bytes.indices {
                var other = bytes
                other[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                #expect(!Self.areEqual(bytes, other), "seed \(seed), place \(place)")
            }
        }
    }

    @Test func `every byte is in a word, the first lowest`() {
        func words(_ count: UInt8) -> [UInt64] {
            var words: [UInt64] = []
            let bytes = Array(1...19 as ClosedRange<UInt8>).prefix(Int(count))
            bytes.withUnsafeBytes { $0.bytes.forEachWord(paddedWith: 0xee) { words.append($0) } }
            return words
        }
        #expect(words(0) == [0xeeee_eeee_eeee_eeee])
        #expect(words(3) == [0xeeee_eeee_ee01_0203])
        #expect(words(8) == [0x0807_0605_0403_0201])
        #expect(words(11) == [0x0807_0605_0403_0201, 0x0b0a_0908_0706_0504])
        #expect(words(16) == [0x0807_0605_0403_0201, 0x100f_0e0d_0c0b_0a09])
    }
}

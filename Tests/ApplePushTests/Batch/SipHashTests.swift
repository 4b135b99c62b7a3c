import CarillonIO
import CarillonText
import TestSupport
import Testing

@testable import ApplePush

@Suite struct SipHashTests {
    /// Of the reference implementation: the key is 00 to 0f, the input the bytes 00, 01, 02 and so on.
    private static let vectors: [(count: Int, digest: String)] = [
        (0, "a3817f04ba25a8e66df67214c7550293"),
        (1, "da87c1d86b99af44347659119b22fc45"),
        (2, "8177228da4a45dc7fca38bdef60affe4"),
        (3, "9c70b60c5267a94e5f33b6b02985ed51"),
        (7, "a1f1ebbed8dbc153c0b84aa61ff08239"),
        (8, "3b62a9ba6258f5610f83e264f31497b4"),
        (9, "264499060ad9baabc47f8b02bb6d71ed"),
        (15, "5493e99933b0a8117e08ec0f97cfc3d9"),
        (16, "6ee2a4ca67b054bbfd3315bf85230577"),
        (17, "473d06e8738db89854c066c47ae47740"),
        (31, "2939b0183223fafc1723de4f52c43d35"),
        (32, "7c3956ca5eeafc3e363e9d556546eb68"),
        (63, "5150d1772f50834a503e069a973fbd7c"),
    ]

    @Test(arguments: vectors)
    func `the digest is that of the reference implementation`(count: Int, digest: String) {
        var hash = SipHash(key: (0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908))
        let input = (0..<UInt8(count)).map { $0 }
        hash.combine(input.span.bytes)
        let (first, second) = hash.finalize()
        let bytes = [first, second].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } }
        #expect(bytes.hexadecimal == digest)
    }

    @Test func `a number counts as its bytes, the least significant first`() {
        var one = SipHash(key: (1, 2))
        one.combine(UInt64(0x0102_0304_0506_0708))
        var other = SipHash(key: (1, 2))
        let bytes: [UInt8] = [8, 7, 6, 5, 4, 3, 2, 1]
        other.combine(bytes.span.bytes)
        #expect(one.finalize() == other.finalize())
    }

    @Test func `the digest does not depend on how the input is divided`() async {
        await Fuzzing.seeds(500) { seed in
            var random = SeededGenerator(seed: seed)
            let input = (0..<Int.random(in: 0..<100, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            let key = (random.next(), random.next())
            var whole = SipHash(key: key)
            whole.combine(input.span.bytes)
            var divided = SipHash(key: key)
            var rest = input[...]
            while !rest.isEmpty {
                let piece = Array(rest.prefix(Int.random(in: 0...20, using: &random)))
                rest = rest.dropFirst(piece.count)
                if piece.count == 8 {
                    divided.combine(piece.reversed().reduce(0) { $0 << 8 | UInt64($1) })
                } else {
                    divided.combine(piece.span.bytes)
                }
            }
            #expect(whole.finalize() == divided.finalize(), "seed \(seed)")
        }
    }
}

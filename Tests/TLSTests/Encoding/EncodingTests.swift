import CarillonTLS
import Testing

@Suite struct EncodingTests {
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy"), ("??>", "Pz8-"), ("???", "Pz8_"),
    ])
    func `base 64 for URLs is encoded and decoded`(text: String, encoded: String) {
        #expect(Base64URL.encode(Array(text.utf8)) == encoded)
        #expect(Base64URL.decode(encoded.utf8) == Array(text.utf8))
    }

    @Test(arguments: ["Z", "Zg==", "Zh", "Zm9v+", "Zm9v/", "Z g", "ü"])
    func `malformed base 64 is not decoded`(text: String) {
        #expect(Base64URL.decode(text.utf8) == nil)
    }

    @Test func `every length survives`() {
        for count in 0..<100 {
            let bytes = SystemRandom.bytes(count)
            #expect(Base64URL.decode(Base64URL.encode(bytes).utf8) == bytes)
        }
    }

    @Test func `the digest of the standard's example is right`() {
        let text = Array("abc".utf8)
        let digest = Digest.sha256(text.span.bytes)
        #expect(digest.prefix(4) == [0xBA, 0x78, 0x16, 0xBF])
        #expect(digest.suffix(4) == [0xF2, 0x00, 0x15, 0xAD])
    }

    @Test func `PEM blocks are found among other text`() {
        let text = "x\n-----BEGIN A-----\n1\n-----END A-----\n-----BEGIN B-----\n-----BEGIN C-----\n2\n-----END C-----"
        #expect(PEM(Array(text.utf8)).blocks.map(\.label) == ["A", "C"])
    }
}

import CarillonTLS
import Testing

@Suite struct HMACTests {
    @Test func `a code is the one of RFC 4231`() {
        let code = HMAC.sha256(Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
        #expect(
            code.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        )
    }
}

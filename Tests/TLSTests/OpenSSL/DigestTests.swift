import Testing

@testable import CarillonTLS

@Suite struct DigestTests {
    @Test func `secrets are the same only if every byte is`() {
        let secret = Digest.sha256(Array("secret".utf8).span.bytes)
        #expect(Digest.areSame(secret, Array(secret)) && Digest.areSame([], []))
        #expect(!Digest.areSame(secret, Array(secret.dropLast())) && !Digest.areSame(secret, secret + [0]))
        for place in secret.indices {
            for bit in 0..<8 {
                var other = secret
                other[place] ^= 1 << UInt8(bit)
                #expect(!Digest.areSame(secret, other), "bit \(bit) of byte \(place)")
            }
        }
    }
}

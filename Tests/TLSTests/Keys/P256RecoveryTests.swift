import CarillonTLS
import Testing

@Suite struct P256RecoveryTests {
    @Test func `the signer's key is among those recovered from its signature`() throws {
        let key = try SigningKey.generate()
        let pem = key.publicKey.pem
        var known: Set<[UInt8]>?
        for round in 0..<20 {
            let message = Array("message \(round)".utf8)
            let keys = P256Recovery.publicKeys(signature: key.sign(message), digest: Digest.sha256(message.span.bytes))
            #expect(keys.count == 2)
            #expect(keys.allSatisfy { $0.count == 65 && $0[0] == 4 })
            known = known?.intersection(keys) ?? Set(keys)
        }
        let left = try #require(known)
        #expect(left.count == 1)
        // A public key in PEM ends with the point.
        let body = pem.split(separator: "\n").dropFirst().dropLast().joined()
        let text = body.replacing("+", with: "-").replacing("/", with: "_").prefix { $0 != "=" }
        let der = try #require(Base64URL.decode(text.utf8))
        #expect(Array(der.suffix(65)) == left.first)
    }

    @Test func `no key is recovered from what is not a signature`() {
        let digest = [UInt8](repeating: 7, count: 32)
        #expect(P256Recovery.publicKeys(signature: [], digest: digest).isEmpty)
        #expect(P256Recovery.publicKeys(signature: [UInt8](repeating: 0, count: 64), digest: digest).isEmpty)
        #expect(P256Recovery.publicKeys(signature: [UInt8](repeating: 255, count: 64), digest: digest).isEmpty)
        #expect(P256Recovery.publicKeys(signature: [UInt8](repeating: 1, count: 63), digest: digest).isEmpty)
    }
}

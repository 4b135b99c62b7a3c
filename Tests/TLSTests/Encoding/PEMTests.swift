import CarillonIO
import Testing

@testable import CarillonTLS

@Suite struct PEMTests {
    /// A reader that looks through the rest of the text for each line takes minutes for any of these.
    @Test(arguments: [
        "-----BEGIN ", "-----BEGIN A-----\n", "-----BEGIN A-----\n-----END B-----\n",
        "-----BEGIN A-----\n-----END A-----\n",
        "-----END A-----\n", "-", "-----", "-----BEGIN -----",
        "MIIBvTCCAWOgAwIBAgIUW2jrWMKaVBlxEnS6b5AJzBpwPMIwCgYIKoZI\n",
    ])
    func `a text of 720 KB costs no more than its length`(piece: String) {
        let text = Array(String(repeating: piece, count: 720_000 / piece.utf8.count).utf8)
        let start = MonotonicInstant.now
        let blocks = PEM(text).blocks
        #expect(MonotonicInstant.now - start < .seconds(20))
        #expect(blocks.isEmpty != (piece == "-----BEGIN A-----\n-----END A-----\n"))
    }

    @Test func `blocks of many labels that never end cost no more than their length`() {
        let text = Array((0..<40_000).map { "-----BEGIN \($0)-----\n" }.joined().utf8)
        let start = MonotonicInstant.now
        #expect(PEM(text).blocks.isEmpty)
        #expect(MonotonicInstant.now - start < .seconds(20))
    }

    @Test func `a text longer than any credential is refused with its length and the limit`() throws {
        let filler = String(repeating: "x", count: PEM.limit)
        let long = KeyFixtures.certificate + "\n" + filler
        let texts: [(certificate: String, key: String?)] = [
            (long + KeyFixtures.key, nil), (long, KeyFixtures.key), (KeyFixtures.certificate, filler + KeyFixtures.key),
        ]
        for (certificate, key) in texts {
            let error = #expect(throws: TLSError.self) {
                _ = try Identity(certificate: certificate, privateKey: key)
            }
            #expect(error?.code == .tooLong)
            #expect(error?.message.contains("at most 524288 are read") == true)
        }
        #expect(throws: TLSError.self) { _ = try SigningKey(p8: filler + KeyFixtures.key) }
        #expect(throws: TLSError.self) { _ = try TLSContext.client(trust: .pem(long)) }
        let fitting = KeyFixtures.certificate + "\n" + filler.dropLast(KeyFixtures.certificate.utf8.count + 1)
        #expect(throws: Never.self) { try Identity(certificate: fitting, privateKey: KeyFixtures.key) }
    }
}

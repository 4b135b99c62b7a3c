import CarillonIO
import TestSupport
import Testing

@testable import CarillonTLS

@Suite struct CredentialFuzzTests {
    /// The bytes within the armour changed, in a text that is armour all the same: what OpenSSL is given is wrong, not
    /// what we find it by.
    private static func spoilt(_ text: String, using random: inout SeededGenerator) -> [UInt8] {
        let lines = text.split(separator: "\n")
        guard let first = lines.first, let last = lines.last, lines.count > 2,
            var bytes = Base64URL.decode(
                Self.translated(lines.dropFirst().dropLast().joined(), from: "+/", to: "-_").utf8
            )
        else { return Array(text.utf8) }
        for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: bytes.remove(at: place)
            case 1: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
            case 2: bytes.removeSubrange(place...)
            default: bytes[place] = UInt8.random(in: 0...255, using: &random)
            }
        }
        let armour = Self.translated(Base64URL.encode(bytes), from: "-_", to: "+/")
        let padding = String(repeating: "=", count: (4 - armour.count % 4) % 4)
        return Array("\(first)\n\(armour)\(padding)\n\(last)\n".utf8)
    }

    /// Base64 in its other alphabet, without padding.
    private static func translated(_ text: String, from: String, to: String) -> String {
        let pairs = Dictionary(uniqueKeysWithValues: zip(from, to))
        return String(text.compactMap { $0 == "=" ? nil : pairs[$0] ?? $0 })
    }

    @Test func `a damaged certificate or key is refused with a message, or is still intact`() async {
        var refused = 0
        await Fuzzing.seeds(300) { seed in
            var random = SeededGenerator(seed: seed)
            let isKey = Bool.random(using: &random)
            let certificate =
                isKey ? Array(KeyFixtures.certificate.utf8) : Self.spoilt(KeyFixtures.certificate, using: &random)
            let key = isKey ? Self.spoilt(KeyFixtures.key, using: &random) : Array(KeyFixtures.key.utf8)
            do throws(TLSError) {
                let identity = try Identity(certificate: certificate, privateKey: key)
                #expect(identity.digest.count == 32, "seed \(seed)")
            } catch {
                #expect(!error.message.isEmpty && !error.message.contains("\n"), "seed \(seed): \(error.message)")
                refused += 1
            }
        }
        #expect(refused > 0)
    }
}

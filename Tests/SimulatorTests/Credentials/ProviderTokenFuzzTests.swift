import CarillonIO
import CarillonTLS
import TestSupport
import Testing

@testable import ApplePushSimulator

@Suite struct ProviderTokenFuzzTests {
    private static let pieces = [
        ".", "..", " ", "=", "-", "_", "bearer ", "e30", "eyJhbGciOiJFUzI1NiJ9", "AA", "MEUCIQ", "\u{0}", "ü",
        String(repeating: "A", count: 86),
    ]

    @Test func `a damaged provider token is refused, or has a key, a team, a time and a signature`() async throws {
        let provider = try TestProvider()
        let tokens = [provider.authorization(issuedAt: 1_700_000_000), provider.appleSample(issuedAt: 1_700_000_000)]
        var keys = ProviderKeys([try provider.registered()], environment: .production, isPedantic: false)
        var refused = 0
        await Fuzzing.seeds(1_000) { seed in
            var random = SeededGenerator(seed: seed)
            let original = Array(tokens[Int.random(in: 0..<tokens.count, using: &random)].utf8)
            var bytes = original
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.removeSubrange(place..<min(place + 8, bytes.count - 1))
                case 2:
                    let piece = Self.pieces[Int.random(in: 0..<Self.pieces.count, using: &random)]
                    bytes.insert(contentsOf: Array(piece.utf8), at: place)
                default: bytes.swapAt(place, bytes.count - 1)
                }
            }
            do throws(APNsRefusal) {
                let token = try PresentedToken(authorization: bytes.span)
                #expect(token.signature.count == 64, "seed \(seed)")
                #expect(!token.keyID.isEmpty && !token.teamID.isEmpty && token.issuedAt.isFinite, "seed \(seed)")
                try keys.verify(token)
            } catch {
                refused += 1
                #expect(bytes != original, "seed \(seed)")
            }
        }
        #expect(refused > 0)
    }
}

import CarillonIO
import Glibc

/// The seeds of fuzz tests. In the suite each test has a few fixed ones. `FUZZ=SECONDS` runs new ones for that long, and
/// `FUZZ_SEED=NUMBER` runs one.
package enum Fuzzing {
    /// Calls the body with each seed. The body names the seed in its findings.
    package static func seeds(_ count: UInt64, _ body: (UInt64) async throws -> Void) async rethrows {
        if let seed = number("FUZZ_SEED") { return try await body(seed) }
        let end = number("FUZZ").map { MonotonicInstant.now + .seconds(Int64(clamping: $0)) }
        var seed: UInt64 = 0
        while end.map({ .now < $0 }) ?? (seed < count) {
            try await Computing.run { try await body(end == nil ? seed : .random(in: .min ... .max)) }
            seed += 1
        }
    }

    private static func number(_ name: String) -> UInt64? { getenv(name).flatMap { UInt64(String(cString: $0)) } }
}

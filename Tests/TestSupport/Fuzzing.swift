import Glibc
import IO

/// The seeds of fuzz tests. In the suite each test has a few fixed ones. `FUZZ=SECONDS` runs new ones for that long, and
/// `FUZZ_SEED=NUMBER` runs one.
package enum Fuzzing {
    /// Calls the body with each seed. The body names the seed in its findings.
    package static func seeds(_ count: UInt64, _ body: (UInt64) throws -> Void) rethrows {
        if let seed = number("FUZZ_SEED") { return try body(seed) }
        guard let seconds = number("FUZZ") else { return try (0..<count).forEach(body) }
        let end = MonotonicInstant.now + .seconds(Int64(clamping: seconds))
        repeat { try body(.random(in: .min ... .max)) } while .now < end
    }

    /// The same for asynchronous bodies.
    package static func seeds(_ count: UInt64, _ body: (UInt64) async throws -> Void) async rethrows {
        if let seed = number("FUZZ_SEED") { return try await body(seed) }
        guard let seconds = number("FUZZ") else {
            for seed in 0..<count { try await body(seed) }
            return
        }
        let end = MonotonicInstant.now + .seconds(Int64(clamping: seconds))
        repeat { try await body(.random(in: .min ... .max)) } while .now < end
    }

    private static func number(_ name: String) -> UInt64? { getenv(name).flatMap { UInt64(String(cString: $0)) } }
}

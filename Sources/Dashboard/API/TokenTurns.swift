import CarillonIO
import CarillonPostgres

/// Lets each API token have one call at a time at PostgreSQL, so that it leaves a connection to others.
actor TokenTurns {
    private struct Line {
        var queue = CallQueue<CheckedContinuation<Bool, Never>>()
        var calls = 0
    }

    private let longestWait: Duration
    /// By the digest of the token.
    private var lines: [String: Line] = [:]

    init(longestWait: Duration) { self.longestWait = longestWait }

    nonisolated func with<R: Sendable>(_ digest: String, _ body: () async throws -> R) async throws -> R {
        guard await begin(digest) else {
            throw RequestError(
                status: .serviceUnavailable,
                detail: "Too many requests of this token wait for each other.",
                hint: "Calls of a token are done one after the other: send fewer at once, and try again."
            )
        }
        do {
            let result = try await body()
            await end(digest)
            return result
        } catch {
            await end(digest)
            throw error
        }
    }

    /// How many calls of a token run or wait.
    func calls(of digest: String) -> Int { lines[digest]?.calls ?? 0 }

    /// Returns false if it has waited too long.
    private func begin(_ digest: String) async -> Bool {
        lines[digest, default: Line()].calls += 1
        let isRunning = await withCheckedContinuation { call in
            if lines[digest, default: Line()].queue.came(call, at: .now) { call.resume(returning: true) }
        }
        if !isRunning { leave(digest) }
        return isRunning
    }

    private func end(_ digest: String) {
        guard let (next, late) = lines[digest]?.queue.ended(at: .now, longestWait: longestWait) else { return }
        for call in late { call.resume(returning: false) }
        next?.resume(returning: true)
        leave(digest)
    }

    private func leave(_ digest: String) {
        lines[digest]?.calls -= 1
        if lines[digest]?.calls == 0 { lines[digest] = nil }
    }
}

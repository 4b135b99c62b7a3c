import CarillonIO
import CarillonPostgres

/// Lets the API tokens of each app have one call at a time at PostgreSQL, so that they leave a connection to those of others.
actor AppTurns {
    private struct Line {
        var queue = CallQueue<CheckedContinuation<Bool, Never>>()
        var calls = 0
    }

    private let longestWait: Duration
    /// By the holder of the token: see `APIEndpoint`.
    private var lines: [String: Line] = [:]

    init(longestWait: Duration) { self.longestWait = longestWait }

    nonisolated func with<R: Sendable>(_ holder: String, _ body: () async throws -> R) async throws -> R {
        guard await begin(holder) else {
            throw RequestError(
                status: .serviceUnavailable,
                detail: "Earlier requests of this app have taken too long, so this one was not begun.",
                hint: "Calls of an app are done one after the other: send fewer at once, and try again."
            )
        }
        do {
            let result = try await body()
            await end(holder)
            return result
        } catch {
            await end(holder)
            throw error
        }
    }

    /// How many calls of a holder run or wait.
    func calls(of holder: String) -> Int { lines[holder]?.calls ?? 0 }

    /// Returns false if it has waited too long.
    private func begin(_ holder: String) async -> Bool {
        lines[holder, default: Line()].calls += 1
        let isRunning = await withCheckedContinuation { call in
            if lines[holder, default: Line()].queue.came(call, at: .now) { call.resume(returning: true) }
        }
        if !isRunning { leave(holder) }
        return isRunning
    }

    private func end(_ holder: String) {
        guard let (next, late) = lines[holder]?.queue.ended(at: .now, longestWait: longestWait) else { return }
        for call in late { call.resume(returning: false) }
        next?.resume(returning: true)
        leave(holder)
    }

    private func leave(_ holder: String) {
        lines[holder]?.calls -= 1
        if lines[holder]?.calls == 0 { lines[holder] = nil }
    }
}

package import IO

extension EventLoop {
    /// Asks again and again until the answer is yes, by the loop's timers. Throws when that takes too long; the sentence
    /// in the error begins with `what`.
    package func eventually(
        _ what: @autoclosure () -> String,
        within limit: Duration = .seconds(60),
        every interval: Duration = .milliseconds(20),
        _ condition: () async throws -> Bool
    ) async throws {
        let deadline = MonotonicInstant.now + limit
        while try await !condition() {
            guard .now < deadline else { throw IOError(.timedOut, "\(what()): not within \(limit)") }
            try await sleep(for: interval)
        }
    }
}

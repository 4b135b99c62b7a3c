package import CarillonIO

extension EventLoop {
    /// Evaluates the condition at intervals until it is true. Throws when that takes too long, with an error that begins with
    /// `what`. What takes two seconds alone may take a minute on a machine that is busy with other tests.
    package func eventually(
        _ what: @autoclosure () -> String,
        within limit: Duration = .seconds(180),
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

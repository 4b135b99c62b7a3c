extension EventLoop {
    /// Sleeps by the loop's own timers, wherever the caller runs; when its task is cancelled, or the loop stops, it
    /// throws at once.
    package func sleep(until deadline: MonotonicInstant) async throws(CancellationError) {
        let wait = Wait(on: self)
        let outcome = await wait.run { wait in wait.begin(until: deadline) }
        if outcome == .cancelled { throw CancellationError() }
    }

    /// Sleeps for a while; see `sleep(until:)`.
    package func sleep(for duration: Duration) async throws(CancellationError) {
        try await sleep(until: .now + duration)
    }

    /// Waits until the descriptor is ready for one of the interests, and says for which. The descriptor must stay open
    /// until this returns, and must not be watched meanwhile. `doing` is the beginning of the sentence in the error, as
    /// in "the TLS handshake with example.org".
    package func readiness(
        of descriptor: CInt,
        for interest: Interest,
        until deadline: MonotonicInstant,
        doing: @autoclosure () -> String
    ) async throws(IOError) -> Interest {
        let wait = Wait(on: self)
        let outcome = await wait.run { wait in wait.begin(descriptor, for: interest, until: deadline) }
        switch outcome {
        case .ready(let interest): return interest
        case .due: throw IOError(.timedOut, "\(doing()) took too long")
        case .cancelled: throw IOError(.cancelled, "\(doing()) was cancelled")
        case .failed(let error): throw error
        }
    }
}

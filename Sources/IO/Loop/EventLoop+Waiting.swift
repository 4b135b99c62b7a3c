extension EventLoop {
    /// Sleeps on the loop's own timers, whatever executor the caller runs on. Throws as soon as the task is cancelled or the loop
    /// stops.
    package func sleep(until deadline: MonotonicInstant) async throws(CancellationError) {
        let wait = Wait(on: self)
        if case .cancelled = await wait.run({ $0.begin(until: deadline) }) { throw CancellationError() }
    }

    package func sleep(for duration: Duration) async throws(CancellationError) {
        try await sleep(until: .now + duration)
    }

    /// Waits until the descriptor is ready for one of the interests, and returns which. The descriptor must stay open and
    /// unwatched until this returns. `doing` begins the sentence of an error, as in "the TLS handshake with example.org".
    package func readiness(
        of descriptor: CInt,
        for interest: Interest,
        until deadline: MonotonicInstant,
        doing: @autoclosure () -> String
    ) async throws(IOError) -> Interest {
        let wait = Wait(on: self)
        switch await wait.run({ $0.begin(descriptor, for: interest, until: deadline) }) {
        case .ready(let interest): return interest
        case .due: throw IOError(.timedOut, "\(doing()) took too long")
        case .cancelled: throw IOError(.cancelled, "\(doing()) was cancelled")
        case .failed(let error): throw error
        }
    }
}

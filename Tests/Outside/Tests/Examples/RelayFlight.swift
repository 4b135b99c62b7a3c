import ApplePush
import Synchronization

/// A delivery under way. Others may stop it at any time, so a lock guards its outcomes.
final class RelayFlight: Sendable {
    private struct State {
        var outcomes: Outcomes
        var isStopped = false
    }

    private let batch: PushBatch
    private let permit: SendingPermit?
    private let state: Mutex<State>

    init(_ batch: consuming PushBatch, permit: SendingPermit?) {
        self.permit = permit
        state = Mutex(State(outcomes: Outcomes(repeating: .pending, count: batch.count)))
        self.batch = batch
    }

    func cancel() { stop(PushError(.cancelled, "The task was cancelled, or its permit to send ended.")) }

    func shutDown() { stop(PushError(.shutDown, "The backend was shut down: make a new one to send more.")) }

    /// Sends nothing more. The push in flight is still waited for.
    private func stop(_ error: PushError) {
        state.withLock { state in
            if state.isStopped { return }
            state.isStopped = true
            state.outcomes.withheld = error
        }
    }

    /// Sends one push after the other, and returns when each has its outcome.
    func run(_ relay: RelayBackend.Relay) async -> Outcomes {
        for position in 0..<batch.count {
            let outcome = await outcome(of: position, relay)
            state.withLock { $0.outcomes[position] = outcome }
        }
        return state.withLock { $0.outcomes }
    }

    private func outcome(of position: Int, _ relay: RelayBackend.Relay) async -> Outcome {
        if batch.isMalformed(position) { return Outcome(.rejected, reason: .malformedToken) }
        if permit?.isInForce == false { cancel() }
        if state.withLock({ $0.isStopped }) { return Outcome(.safe) }
        do throws(PushError) {
            let answer = try await relay(batch.token(of: position), batch.id(of: position), batch.payload(of: position))
            return answer ?? Outcome(.unknown)
        } catch {
            state.withLock { state in
                state.isStopped = true
                state.outcomes.connectFailure = error
            }
            return Outcome(.safe)
        }
    }

    /// Returns at the end of an interval in which a push has ended, or when all have.
    func delivered(after interval: Duration, _ remainder: Remainder) async -> Delivered {
        let (ticks, tick) = AsyncStream.makeStream(of: Void.self)
        let clock = Task {
            while true {
                try await Task.sleep(for: max(interval, .milliseconds(1)))
                tick.yield()
            }
        }
        Task {
            _ = await remainder.outcomes()
            tick.finish()
        }
        for await _ in ticks where state.withLock({ $0.outcomes.contains { $0.verdict != .pending } }) { break }
        clock.cancel()
        let outcomes = state.withLock { $0.outcomes }
        return Delivered(outcomes, remainder: outcomes.contains { $0.verdict == .pending } ? remainder : nil)
    }
}

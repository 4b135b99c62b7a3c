import IO

/// The pushes of a delivery that had not ended when it returned: their outcomes follow here.
public final class Remainder: Sendable {
    private enum State {
        case open(waiting: [CheckedContinuation<Outcomes, Never>])
        case ended(Outcomes)
    }

    private let state = Guarded(State.open(waiting: []))
    private let onCancel: @Sendable () -> Void

    /// A remainder to be ended by whoever makes it.
    ///
    /// - Parameter onCancel: Called when a task that waits for the outcomes is cancelled: send no more, and end what can
    ///   be ended.
    public init(onCancel: @escaping @Sendable () -> Void = {}) { self.onCancel = onCancel }

    /// The outcomes of the whole batch, as soon as every push has ended; those that were known before are the same.
    public func outcomes() async -> Outcomes {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcomes: Outcomes? = self.state.withLock { state in
                    switch state {
                    case .open(let waiting):
                        state = .open(waiting: waiting + [continuation])
                        return nil
                    case .ended(let outcomes): return outcomes
                    }
                }
                if let outcomes { continuation.resume(returning: outcomes) }
            }
        } onCancel: {
            onCancel()
        }
    }

    /// Every push has ended: hands the outcomes to those who wait, and to those who ask later. To be called once.
    public func end(with outcomes: Outcomes) {
        let waiting = self.state.withLock { state in
            guard case .open(let waiting) = state else { preconditionFailure("A remainder ends once.") }
            state = .ended(outcomes)
            return waiting
        }
        for continuation in waiting { continuation.resume(returning: outcomes) }
    }
}

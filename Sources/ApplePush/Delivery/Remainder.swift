import CarillonIO

/// Returns the outcomes of a delivery that returned early.
public final class Remainder: Sendable {
    private enum State {
        case open(waiting: [CheckedContinuation<Outcomes, Never>])
        case ended(Outcomes)
    }

    private let state = Guarded(State.open(waiting: []))
    private let onCancel: @Sendable () -> Void

    /// A remainder, to be ended by its maker.
    ///
    /// - Parameter onCancel: Called when a task that waits for the outcomes is cancelled: the maker must send no more pushes.
    public init(onCancel: @escaping @Sendable () -> Void = {}) { self.onCancel = onCancel }

    /// The outcomes of the whole batch, as soon as every push has ended. Earlier outcomes are unchanged.
    public func outcomes() async -> Outcomes {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let outcomes: Outcomes? = state.withLock { state in
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

    /// Every push has ended: returns the outcomes to all callers, now and later. To be called once.
    public func end(with outcomes: Outcomes) {
        let waiting = state.withLock { state in
            guard case .open(let waiting) = state else { preconditionFailure("A remainder ends once.") }
            state = .ended(outcomes)
            return waiting
        }
        for continuation in waiting { continuation.resume(returning: outcomes) }
    }
}

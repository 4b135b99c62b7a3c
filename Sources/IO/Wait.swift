/// One task waiting for one thing on a loop: a time, or a descriptor with a time limit. Whatever comes first ends it:
/// readiness, the time, the task's cancellation, the loop's end.
final class Wait: Sendable {
    enum Outcome: Equatable {
        case ready(Interest)
        case due
        case cancelled
        case failed(IOError)

        static func == (left: Self, right: Self) -> Bool {
            switch (left, right) {
            case (.due, .due), (.cancelled, .cancelled): true
            case (.ready(let left), .ready(let right)): left == right
            default: false
            }
        }
    }

    private enum State {
        case new
        case waiting(CheckedContinuation<Outcome, Never>)
        case ended(Outcome)
    }

    /// What to take back on the loop.
    private struct Tokens {
        var watch: WatchToken?
        var timer: TimerToken?
    }

    private let loop: EventLoop
    private let state = Guarded(State.new)
    private let tokens = Guarded(Tokens())

    init(on loop: EventLoop) {
        self.loop = loop
    }

    func run(_ begin: @escaping @Sendable (Wait) -> Void) async -> Outcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let early: Outcome? = self.state.withLock { state in
                    if case .ended(let outcome) = state { return outcome }
                    state = .waiting(continuation)
                    return nil
                }
                if let early { return continuation.resume(returning: early) }
                if loop.isCurrent {
                    begin(self)
                } else if !loop.submit({ begin(self) }) {
                    end(.cancelled)
                }
            }
        } onCancel: {
            end(.cancelled)
        }
    }

    func begin(until deadline: MonotonicInstant) {
        guard isWaiting else { return }
        let timer = loop.schedule(at: deadline, abandoned: { self.end(.cancelled) }, { self.end(.due) })
        tokens.withLock { $0.timer = timer }
    }

    func begin(_ descriptor: CInt, for interest: Interest, until deadline: MonotonicInstant) {
        guard isWaiting else { return }
        do {
            let watch = try loop.watch(descriptor, for: interest) { ready in self.end(.ready(ready)) }
            tokens.withLock { $0.watch = watch }
            begin(until: deadline)
        } catch {
            end(.failed(error))
        }
    }

    private var isWaiting: Bool {
        self.state.withLock { state in
            if case .waiting = state { true } else { false }
        }
    }

    private func end(_ outcome: Outcome) {
        let continuation: CheckedContinuation<Outcome, Never>? = self.state.withLock { state in
            switch state {
            case .new:
                state = .ended(outcome)
                return nil
            case .waiting(let continuation):
                state = .ended(outcome)
                return continuation
            case .ended:
                return nil
            }
        }
        guard let continuation else { return }
        if loop.isCurrent {
            takeBack()
            continuation.resume(returning: outcome)
        } else {
            // The descriptor is the caller's to close as soon as it goes on, so the watch has to be gone before that.
            let submitted = loop.submit {
                self.takeBack()
                continuation.resume(returning: outcome)
            }
            if !submitted { continuation.resume(returning: outcome) }
        }
    }

    private func takeBack() {
        let tokens = self.tokens.withLock { tokens in
            defer { tokens = Tokens() }
            return tokens
        }
        if let watch = tokens.watch { loop.cancel(watch) }
        if let timer = tokens.timer { loop.cancel(timer) }
    }
}

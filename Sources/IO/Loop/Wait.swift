/// A task's wait on a loop, either for a time or for a descriptor until a deadline. It ends at readiness, the deadline, the task's
/// cancellation or the loop's end, whichever comes first.
final class Wait: Sendable {
    enum Wake: Sendable {
        case ready(Interest)
        case due
        case cancelled
        case failed(IOError)
    }

    private struct State {
        var continuation: CheckedContinuation<Wake, Never>?
        var wake: Wake?
        /// To be cancelled on the loop.
        var watch: WatchToken?
        var timer: TimerToken?
    }

    private let loop: EventLoop
    private let state = Guarded(State())

    init(on loop: EventLoop) { self.loop = loop }

    func run(_ begin: @escaping @Sendable (Wait) -> Void) async -> Wake {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let early = state.withLock { state in
                    if state.wake == nil { state.continuation = continuation }
                    return state.wake
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
        state.withLock { $0.timer = timer }
    }

    func begin(_ descriptor: CInt, for interest: Interest, until deadline: MonotonicInstant) {
        guard isWaiting else { return }
        do {
            let watch = try loop.watch(descriptor, for: interest) { ready in self.end(.ready(ready)) }
            state.withLock { $0.watch = watch }
            begin(until: deadline)
        } catch {
            end(.failed(error))
        }
    }

    private var isWaiting: Bool { state.withLock { $0.wake == nil } }

    private func end(_ wake: Wake) {
        let continuation = state.withLock { state -> CheckedContinuation<Wake, Never>? in
            guard state.wake == nil else { return nil }
            state.wake = wake
            return state.continuation.take()
        }
        guard let continuation else { return }
        let resume: @Sendable () -> Void = {
            self.cancelTokens()
            continuation.resume(returning: wake)
        }
        if loop.isCurrent { return resume() }
        // The caller may close the descriptor as soon as it resumes, so the watch must be cancelled first.
        if !loop.submit(resume) { continuation.resume(returning: wake) }
    }

    private func cancelTokens() {
        let (watch, timer) = state.withLock { ($0.watch.take(), $0.timer.take()) }
        if let watch { loop.cancel(watch) }
        if let timer { loop.cancel(timer) }
    }
}

import CarillonIO

/// What the parts of a worker share: the value that decides, the clock of their waits, and bells. Like them, it lives on the
/// worker's actor.
final class Core {
    private(set) var state: WorkerState
    let options: WorkerOptions
    let loop: EventLoop
    /// Rung when there may be something to claim, or the worker may be done.
    let dispatchBell = Bell()
    /// Rung when the worker gives up, and when it stops waiting.
    let shutdownBell = Bell()

    init(_ options: WorkerOptions, on loop: EventLoop) {
        self.options = options
        self.loop = loop
        state = WorkerState(options, seed: .random(in: .min ... .max))
    }

    /// Something has happened. The body must not wait or log.
    func event<R>(_ body: (inout WorkerState) -> R) -> R { body(&state) }

    /// Whether a long task may go on.
    var goesOn: Bool { state.phase == .working && !Task.isCancelled }

    /// False: the task was cancelled, or the loop has stopped.
    @discardableResult
    func sleep(for wait: Duration) async -> Bool {
        do {
            try await loop.sleep(for: wait)
        } catch {
            if !Task.isCancelled { stopWaiting() }
            return false
        }
        return !Task.isCancelled
    }

    func stopWaiting() {
        event { $0.stoppedWaiting() }
        dispatchBell.ring()
        shutdownBell.ring()
    }
}

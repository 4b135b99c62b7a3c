import ApplePush
import CarillonIO

/// What the parts of a worker share: the value that decides, the backend, the clock of their waits, the log, and bells. Like
/// them, it lives on the worker's actor.
final class WorkerContext {
    private(set) var state: WorkerState
    let options: WorkerOptions
    let loop: EventLoop
    let backend: any Backend
    let meter: WorkerMeter
    /// Rung when there may be something to claim, or the worker may be done.
    let dispatchBell = Bell()
    /// Rung when it is time to look for work, or to ask whether the worker may sleep.
    let lookBell = Bell()
    /// Rung when PostgreSQL notifies the worker, and when the connection for that is lost.
    let callBell = Bell()
    /// Rung when the worker gives up, and when it ends.
    let shutdownBell = Bell()
    /// Rung while there is something to write about apps and credentials.
    let notesBell = Bell()

    init(_ options: WorkerOptions, on loop: EventLoop, _ backend: any Backend, _ meter: WorkerMeter) {
        self.options = options
        self.loop = loop
        self.backend = backend
        self.meter = meter
        state = WorkerState(options, seed: .random(in: .min ... .max))
    }

    /// Something has happened. The body must not wait or log.
    func event<R>(_ body: (inout WorkerState) -> R) -> R {
        assertOnLoop()
        defer { if !state.notes.isEmpty { notesBell.ring() } }
        return body(&state)
    }

    /// The compiler does not see when a part of the worker leaves the loop.
    private func assertOnLoop() { assert(loop.isCurrent, "a part of the worker has left its loop") }

    func log(_ event: WorkerEvent) { meter.log(event) }

    func count(_ change: (inout WorkerCounters) -> Void) { meter.count(change) }

    /// Wakes a sleeper for something that PostgreSQL does not know of.
    func wake() {
        event { $0.sleep.wake(at: .now) }
        lookBell.ring()
    }

    /// Whether a long task may go on.
    var goesOn: Bool { state.phase == .working && !Task.isCancelled }

    /// Returns false if the task was cancelled, or the loop has stopped.
    @discardableResult
    func sleep(for wait: Duration) async -> Bool {
        assertOnLoop()
        do {
            try await loop.sleep(for: wait)
        } catch {
            if !Task.isCancelled { end() }
            return false
        }
        return !Task.isCancelled
    }

    func end() {
        event { $0.ended() }
        dispatchBell.ring()
        shutdownBell.ring()
    }
}

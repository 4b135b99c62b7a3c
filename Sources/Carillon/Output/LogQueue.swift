import Dispatch
import IO

/// Lines on their way to a reader who may be slow, stuck or gone.
///
/// One background thread writes them. When the reader does not keep up, lines are dropped and counted, and the count
/// is said as soon as there is room again: a full pipe stops the log, never the work.
final class LogQueue: Sendable {
    static let capacity = 4_096

    private struct State {
        var waiting = 0
        var dropped = 0
    }

    private let state = Guarded(State())
    private let queue = DispatchQueue(label: "carillon.log")
    private let write: @Sendable (String) -> Void
    private let lost: @Sendable (Int) -> String

    /// - Parameter lost: the line that says how many were dropped.
    init(write: @escaping @Sendable (String) -> Void, lost: @escaping @Sendable (Int) -> String) {
        self.write = write
        self.lost = lost
    }

    func add(_ line: String) {
        let dropped: Int? = state.withLock { state in
            guard state.waiting < Self.capacity else {
                state.dropped += 1
                return nil
            }
            state.waiting += 1
            defer { state.dropped = 0 }
            return state.dropped
        }
        guard let dropped else { return }
        queue.async {
            if dropped > 0 { self.write(self.lost(dropped)) }
            self.write(line)
            self.state.withLock { $0.waiting -= 1 }
        }
    }

    /// Waits until every line so far is written, or the limit is over.
    func flush(within limit: Duration) {
        let written = DispatchSemaphore(value: 0)
        queue.async { written.signal() }
        let (seconds, attoseconds) = limit.components
        let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        _ = written.wait(timeout: .now() + .nanoseconds(nanoseconds))
    }
}

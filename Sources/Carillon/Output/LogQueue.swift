import CarillonIO
import Dispatch

/// Log lines on their way to a reader that may be slow, stuck or gone, or to a full disk.
///
/// One background thread writes them. A line that finds no room, or cannot be written, is lost and counted. The log
/// says so as soon as it can be written again. A log that cannot be written never stops the work.
final class LogQueue: Sendable {
    static let capacity = 4_096

    private struct State {
        var waiting = 0
        /// Lines that found no room since the last one that did.
        var dropped = 0
        /// Lines that could not be written since the last one that was.
        var unwritten = 0
        var lost = 0
        /// The last write ended within a line.
        var isTorn = false
    }

    private let state = Guarded(State())
    private let queue = DispatchQueue(label: "carillon.log")
    private let write: @Sendable (String) -> Int
    private let notice: @Sendable (Int) -> String

    /// - Parameters:
    ///   - write: returns how many bytes it has written.
    ///   - notice: the line that says how many were lost.
    init(write: @escaping @Sendable (String) -> Int, notice: @escaping @Sendable (Int) -> String) {
        self.write = write
        self.notice = notice
    }

    var lost: Int { state.withLock { $0.lost } }

    func add(_ line: String) {
        let dropped: Int? = state.withLock { state in
            guard state.waiting < Self.capacity else {
                state.dropped += 1
                state.lost += 1
                return nil
            }
            state.waiting += 1
            defer { state.dropped = 0 }
            return state.dropped
        }
        guard let dropped else { return }
        queue.async {
            self.put(line, after: dropped)
            self.state.withLock { $0.waiting -= 1 }
        }
    }

    /// On the queue's thread.
    private func put(_ line: String, after dropped: Int) {
        var missing = state.withLock { $0.unwritten } + dropped
        if missing > 0, put(notice(missing)) { missing = 0 }
        let isWritten = missing == 0 && put(line)
        state.withLock { state in
            state.unwritten = missing + (isWritten ? 0 : 1)
            state.lost += isWritten ? 0 : 1
        }
    }

    /// True if everything was written.
    private func put(_ line: String) -> Bool {
        // The rest of a line that was cut off must not become a part of the next one.
        let isTorn = state.withLock { $0.isTorn }
        let text = isTorn ? "\n" + line : line
        let count = write(text)
        let isWhole = count == text.utf8.count
        if count > 0 { state.withLock { $0.isTorn = !isWhole && !(isTorn && count == 1) } }
        return isWhole
    }

    /// Waits until every line is written, or the time is over.
    func flush(within limit: Duration) {
        let written = DispatchSemaphore(value: 0)
        queue.async { written.signal() }
        _ = written.wait(timeout: .now() + .nanoseconds(Int(limit.nanoseconds)))
    }
}

import CLinux
import Glibc
import Synchronization

/// Signals of the process as events on a loop, instead of its sudden end.
///
/// A handler writes the signal's number to a pipe that the loop reads. A `signalfd` would need every thread of the
/// process to block the signal, those we did not start too, and children would inherit the block; a handler needs
/// nothing of either. There is one disposition of a signal in a process, so there is one watch at a time.
package final class SignalWatch: Sendable {
    /// Where the handlers write. Made once and never closed: a handler may still run, on any thread, after its signal
    /// was given back.
    private static let pipeEnd = Atomic<CInt>(-1)
    /// Where the loop reads; nil before the first watch.
    private static let pipe = Guarded<CInt?>(nil)
    private static let isTaken = Atomic(false)

    /// Each signal as it comes, until `close()`. For one reader.
    package let signals: AsyncStream<Signal>
    private let continuation: AsyncStream<Signal>.Continuation
    private let receiver: SignalReceiver
    private let before: [(signal: Signal, action: sigaction)]
    private let isOpen = Guarded(true)

    package init(_ watched: [Signal] = [.terminate, .interrupt], on loop: EventLoop) throws(IOError) {
        let reading = try Self.readingEnd()
        guard !Self.isTaken.exchange(true, ordering: .sequentiallyConsistent) else {
            throw IOError(.system, "signals are being watched already: close the first watch")
        }
        // What came after the watch before this one was closed is not for this one.
        var stale = [UInt8](repeating: 0, count: 256)
        while read(reading, &stale, stale.count) > 0 {}
        (signals, continuation) = AsyncStream.makeStream(of: Signal.self)
        receiver = SignalReceiver(reading, on: loop, to: continuation)
        receiver.start()
        before = watched.map { ($0, Self.install($0)) }
    }

    deinit {
        close()
    }

    /// Gives the signals back to whom they belonged before, and ends the stream.
    package func close() {
        let wasOpen = self.isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        guard wasOpen else { return }
        for (signal, action) in before {
            var action = action
            sigaction(signal.rawValue, &action, nil)
        }
        continuation.finish()
        receiver.stop()
        Self.isTaken.store(false, ordering: .sequentiallyConsistent)
    }

    private static func readingEnd() throws(IOError) -> CInt {
        try pipe.withLock { (reading) throws(IOError) -> CInt in
            if let reading { return reading }
            let ends = try SocketPair().release()
            pipeEnd.store(ends.1, ordering: .sequentiallyConsistent)
            reading = ends.0
            return ends.0
        }
    }

    private static func install(_ signal: Signal) -> sigaction {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { number in
            // Only what POSIX allows in a handler: one write, and errno as it was.
            let before = errno
            var byte = UInt8(truncatingIfNeeded: number)
            _ = write(SignalWatch.pipeEnd.load(ordering: .sequentiallyConsistent), &byte, 1)
            errno = before
        }
        action.sa_flags = CInt(SA_RESTART)
        var before = sigaction()
        sigaction(signal.rawValue, &action, &before)
        return before
    }
}

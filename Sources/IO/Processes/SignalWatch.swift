import CarillonCLinux
import Glibc
import Synchronization

/// Delivers the process's signals as events on a loop, instead of letting them end the process.
///
/// A handler writes the signal's number to a socket that the loop reads. A `signalfd` would need every thread of the process to
/// block the signal, even those started by others, and children would inherit the block. A process has one disposition for each
/// signal, so there can be only one watch at a time.
package final class SignalWatch: Sendable {
    /// The part that runs on the loop.
    private actor Receiver {
        private let descriptor: CInt
        private let loop: EventLoop
        private let continuation: AsyncStream<Signal>.Continuation
        private var watch: WatchToken?

        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        init(_ descriptor: CInt, on loop: EventLoop, to continuation: AsyncStream<Signal>.Continuation) {
            self.descriptor = descriptor
            self.loop = loop
            self.continuation = continuation
        }

        func open() {
            do {
                watch = try loop.watch(descriptor, for: .read) { _ in self.receive() }
            } catch {
                continuation.finish()
            }
        }

        func close() {
            if let watch = self.watch.take() { loop.cancel(watch) }
        }

        private func receive() {
            var bytes = [UInt8](repeating: 0, count: 16)
            let count = read(descriptor, &bytes, bytes.count)
            guard count > 0 else { return close() }
            for byte in bytes.prefix(count) { continuation.yield(Signal(rawValue: CInt(byte))) }
        }
    }

    /// The end that the handlers write to. Created once and never closed: a handler may still be running, on any thread, after its
    /// signal's disposition was restored.
    private static let writingEnd = Atomic<CInt>(-1)
    /// The end that the loop reads; nil before the first watch.
    private static let readingEnd = Guarded<CInt?>(nil)
    private static let isTaken = Atomic(false)

    /// Each signal as it arrives, until `close()`. For one reader.
    package let signals: AsyncStream<Signal>
    private let continuation: AsyncStream<Signal>.Continuation
    private let loop: EventLoop
    private let receiver: Receiver
    private let before: [(signal: Signal, action: sigaction)]
    private let isOpen = Atomic(true)

    package init(_ watched: [Signal] = [.terminate, .interrupt], on loop: EventLoop) throws(IOError) {
        let reading = try Self.openSocket()
        guard !Self.isTaken.exchange(true, ordering: .sequentiallyConsistent) else {
            throw IOError(.system, "signals are being watched already: close the first watch")
        }
        // Discard signals that were written after an earlier watch was closed.
        var stale = [UInt8](repeating: 0, count: 256)
        while read(reading, &stale, stale.count) > 0 {}
        (signals, continuation) = AsyncStream.makeStream(of: Signal.self)
        let receiver = Receiver(reading, on: loop, to: continuation)
        loop.submit { receiver.assumeIsolated { $0.open() } }
        self.loop = loop
        self.receiver = receiver
        before = watched.map { ($0, Self.install($0)) }
    }

    deinit { close() }

    /// Restores the signals' earlier dispositions, and ends the stream.
    package func close() {
        guard isOpen.exchange(false, ordering: .sequentiallyConsistent) else { return }
        for (signal, action) in before {
            var action = action
            sigaction(signal.rawValue, &action, nil)
        }
        continuation.finish()
        loop.submit { [receiver] in receiver.assumeIsolated { $0.close() } }
        Self.isTaken.store(false, ordering: .sequentiallyConsistent)
    }

    private static func openSocket() throws(IOError) -> CInt {
        try readingEnd.withLock { (reading) throws(IOError) -> CInt in
            if let reading { return reading }
            let ends = try SocketPair().release()
            writingEnd.store(ends.1, ordering: .sequentiallyConsistent)
            reading = ends.0
            return ends.0
        }
    }

    private static func install(_ signal: Signal) -> sigaction {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { number in
            // Only what POSIX allows in a handler: one write, with errno restored.
            let before = errno
            var byte = UInt8(truncatingIfNeeded: number)
            _ = write(SignalWatch.writingEnd.load(ordering: .sequentiallyConsistent), &byte, 1)
            errno = before
        }
        action.sa_flags = CInt(SA_RESTART)
        var before = sigaction()
        sigaction(signal.rawValue, &action, &before)
        return before
    }
}

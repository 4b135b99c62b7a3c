import CLinux
import Glibc
import Synchronization

/// Signals of the process as events on a loop, instead of its sudden end.
///
/// A handler writes the signal's number to a pipe that the loop reads. A `signalfd` would need every thread of the
/// process to block the signal, those we did not start too, and children would inherit the block; a handler needs
/// nothing of either. There is one disposition of a signal in a process, so there is one watch at a time.
package final class SignalWatch: Sendable {
    /// Where the handler writes; -1 while nothing is watched.
    private static let pipeEnd = Atomic<CInt>(-1)

    /// Each signal as it comes, until `close()`. For one reader.
    package let signals: AsyncStream<Signal>
    private let continuation: AsyncStream<Signal>.Continuation
    private let receiver: Receiver
    private let before: [(signal: Signal, action: sigaction)]
    private let isOpen = Guarded(true)

    package init(_ watched: [Signal] = [.terminate, .interrupt], on loop: EventLoop) throws(IOError) {
        let (reading, writing) = try SocketPair().release()
        guard Self.pipeEnd.compareExchange(expected: -1, desired: writing, ordering: .sequentiallyConsistent).exchanged
        else {
            Glibc.close(reading)
            Glibc.close(writing)
            throw IOError(.system, "signals are being watched already: close the first watch")
        }
        (self.signals, self.continuation) = AsyncStream.makeStream(of: Signal.self)
        self.receiver = Receiver(reading, on: loop, to: self.continuation)
        self.receiver.start()
        self.before = watched.map { ($0, Self.install($0)) }
    }

    deinit {
        self.close()
    }

    /// Gives the signals back to whom they belonged before, and ends the stream.
    package func close() {
        let wasOpen = self.isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        guard wasOpen else { return }
        for (signal, action) in self.before {
            var action = action
            sigaction(signal.rawValue, &action, nil)
        }
        let writing = Self.pipeEnd.exchange(-1, ordering: .sequentiallyConsistent)
        Glibc.close(writing)
        self.receiver.stop()
        self.continuation.finish()
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

/// The loop's end of the pipe.
private actor Receiver {
    private let descriptor: CInt
    private let loop: EventLoop
    private let continuation: AsyncStream<Signal>.Continuation
    private var watch: WatchToken?

    nonisolated var unownedExecutor: UnownedSerialExecutor { self.loop.asUnownedSerialExecutor() }

    init(_ descriptor: CInt, on loop: EventLoop, to continuation: AsyncStream<Signal>.Continuation) {
        self.descriptor = descriptor
        self.loop = loop
        self.continuation = continuation
    }

    deinit {
        close(self.descriptor)
    }

    nonisolated func start() {
        self.loop.submit { self.assumeIsolated { $0.open() } }
    }

    nonisolated func stop() {
        self.loop.submit { self.assumeIsolated { $0.shut() } }
    }

    private func open() {
        self.watch = try? self.loop.watch(self.descriptor, for: .read) { _ in self.receive() }
    }

    private func shut() {
        if let watch = self.watch.take() { self.loop.cancel(watch) }
    }

    private func receive() {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = read(self.descriptor, &bytes, bytes.count)
        guard count > 0 else { return self.shut() }
        for byte in bytes.prefix(count) { self.continuation.yield(Signal(rawValue: CInt(byte))) }
    }
}

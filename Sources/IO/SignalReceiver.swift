import Glibc

/// The loop's end of the pipe into which signal handlers write.
actor SignalReceiver {
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

    nonisolated func start() {
        self.loop.submit { self.assumeIsolated { $0.open() } }
    }

    nonisolated func stop() {
        self.loop.submit { self.assumeIsolated { $0.shut() } }
    }

    private func open() {
        do {
            self.watch = try self.loop.watch(self.descriptor, for: .read) { _ in self.receive() }
        } catch {
            self.continuation.finish()
        }
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

import Glibc

/// The loop's end of the pipe into which signal handlers write.
actor SignalReceiver {
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

    nonisolated func start() {
        loop.submit { self.assumeIsolated { $0.open() } }
    }

    nonisolated func stop() {
        loop.submit { self.assumeIsolated { $0.shut() } }
    }

    private func open() {
        do {
            watch = try loop.watch(descriptor, for: .read) { _ in self.receive() }
        } catch {
            continuation.finish()
        }
    }

    private func shut() {
        if let watch = self.watch.take() { loop.cancel(watch) }
    }

    private func receive() {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0 else { return shut() }
        for byte in bytes.prefix(count) { continuation.yield(Signal(rawValue: CInt(byte))) }
    }
}

import CarillonIO
import Glibc

/// Keeps reading for a while before a client's socket is closed. Closing a socket with unread bytes resets the connection, and the
/// last bytes to the client, which contain the cause, would be lost.
final class LingeringClose {
    private static let timeLimit = Duration.seconds(5)
    private static let byteLimit = 1 << 20

    private let socket: Socket
    private let loop: EventLoop
    private var watch: WatchToken?
    private var timer: TimerToken?
    private var bytesLeft = byteLimit

    /// Begins to linger. Nothing more may be written to the descriptor; its owner must still close it.
    static func begin(over descriptor: CInt, on loop: EventLoop) {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        // If no descriptor is free, the client may miss the last bytes.
        guard copy >= 0 else { return }
        let lingering = LingeringClose(Socket(owning: copy), loop)
        lingering.socket.closeWriting()
        // The loop keeps it alive until one of these ends it.
        lingering.watch = try? loop.watch(copy, for: .read) { _ in lingering.read() }
        guard lingering.watch != nil else { return }
        lingering.timer = loop.schedule(at: .now + timeLimit) { lingering.end() }
    }

    private init(_ socket: consuming Socket, _ loop: EventLoop) {
        self.socket = socket
        self.loop = loop
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        guard case .some(.bytes(let count)) = try? socket.read(into: &buffer) else { return end() }
        bytesLeft -= count
        if bytesLeft <= 0 { end() }
    }

    private func end() {
        if let watch = watch.take() { loop.cancel(watch) }
        if let timer = timer.take() { loop.cancel(timer) }
    }
}

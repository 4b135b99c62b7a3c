import Glibc
import IO

/// Lets a client hear the last that was said to it. A socket that is closed while bytes lie in it unread resets the
/// connection, and what is on its way to the client is lost: so they are read, for a while, until the client closes.
final class Farewell {
    private static let patience = Duration.seconds(5)
    private static let byteLimit = 1 << 20

    private let socket: Socket
    private let loop: EventLoop
    private var watch: WatchToken?
    private var timer: TimerToken?
    private var bytesLeft = byteLimit

    /// Nothing more will be said over that descriptor, which is its owner's to close.
    static func begin(over descriptor: CInt, on loop: EventLoop) {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        // Without a descriptor to spare the client may miss the last word.
        guard copy >= 0 else { return }
        let farewell = Farewell(Socket(owning: copy), loop)
        farewell.socket.closeWriting()
        // The loop keeps it until it ends itself, or the loop does.
        farewell.watch = try? loop.watch(copy, for: .read) { _ in farewell.read() }
        guard farewell.watch != nil else { return }
        farewell.timer = loop.schedule(at: .now + patience) { farewell.end() }
    }

    private init(_ socket: consuming Socket, _ loop: EventLoop) {
        self.socket = socket
        self.loop = loop
    }

    private func read() {
        var room = [UInt8](repeating: 0, count: 16_384)
        // One piece a turn: others have theirs.
        guard case .some(.bytes(let count)) = try? socket.read(into: &room) else { return end() }
        bytesLeft -= count
        if bytesLeft <= 0 { end() }
    }

    private func end() {
        if let watch = watch.take() { loop.cancel(watch) }
        if let timer = timer.take() { loop.cancel(timer) }
    }
}

import CarillonCLinux
import Glibc

/// A stream socket, closed with its value. It is non-blocking, and child processes do not inherit it.
package struct Socket: ~Copyable, Sendable {
    package let descriptor: CInt

    package init(owning descriptor: CInt) { self.descriptor = descriptor }

    /// Flags for callers that call send(2) themselves. A write to a closed connection must not raise `SIGPIPE`, which would end the
    /// program.
    package static var sendFlags: CInt { CInt(MSG_NOSIGNAL) }

    static var streamType: CInt { CInt(SOCK_STREAM.rawValue) }
    /// Of every new socket.
    static var flags: CInt { CInt(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue) }

    deinit { close(descriptor) }

    /// Gives up the descriptor without closing it.
    package consuming func release() -> CInt {
        let descriptor = self.descriptor
        discard self
        return descriptor
    }

    static func unconnected(family: CInt) throws(IOError) -> Socket {
        try Socket(owning: SystemCall.check("making a socket") { socket(family, streamType | flags, 0) })
    }

    /// A socket that is connecting. Once it is writable, `pendingError()` returns the result.
    package static func connecting(to address: SocketAddress) throws(IOError) -> Socket {
        let socket = try unconnected(family: address.family)
        let result = address.withPointer { connect(socket.descriptor, $0, $1) }
        guard result == 0 || errno == EINPROGRESS || errno == EINTR else {
            throw IOError(errno: errno, doing: "connecting to \(address)")
        }
        return socket
    }

    static func accepted(on listener: CInt) throws(IOError) -> Socket {
        let socket = try Socket(
            owning: SystemCall.check("accepting a connection") { accept4(listener, nil, nil, flags) }
        )
        socket.setNoDelay()
        return socket
    }

    /// Reads into the front of the array, which keeps its size.
    package func read(into bytes: inout [UInt8]) throws(IOError) -> ReadResult {
        let count = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        if count > 0 { return .bytes(count) }
        if count == 0 { return .closed }
        if errno == EAGAIN || errno == EINTR { return .wantsRead }
        throw IOError(errno: errno, doing: "reading from the socket")
    }

    package func write(_ bytes: RawSpan) throws(IOError) -> WriteResult {
        let count = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Self.sendFlags) }
        if count >= 0 { return .bytes(count) }
        if errno == EAGAIN || errno == EINTR { return .wantsWrite }
        throw IOError(errno: errno, doing: "writing to the socket")
    }

    /// Ends the sending side; reading goes on.
    package func closeWriting() { shutdown(descriptor, CInt(SHUT_WR)) }

    /// Makes the kernel end the connection when, for this long, the peer has not acknowledged sent data or has had no room for
    /// more.
    package func giveUp(unacknowledgedAfter limit: Duration) {
        set(CInt(IPPROTO_TCP), TCP_USER_TIMEOUT, to: CUnsignedInt(clamping: limit.nanoseconds / 1_000_000))
    }

    /// How many written bytes the peer's host has not acknowledged. Acknowledged bytes may still be unread by the peer.
    package var unacknowledged: Int {
        var count: CInt = 0
        // TIOCOUTQ has the same value as SIOCOUTQ, which the Linux manual names for sockets.
        _ = ioctl(descriptor, UInt(TIOCOUTQ), &count)
        return Int(count)
    }

    /// Makes closing the socket reset the connection instead of ending it in order.
    package func resetWhenClosed() {
        set(SOL_SOCKET, SO_LINGER, to: linger(l_onoff: 1, l_linger: 0))
    }

    /// The socket's pending error, such as that of a connect that has failed; 0 if there is none.
    func pendingError() -> CInt {
        var number: CInt = 0
        var size = socklen_t(MemoryLayout.size(ofValue: number))
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &size)
        return number
    }

    /// Turns off Nagle's algorithm: callers already write in batches.
    func setNoDelay() { set(CInt(IPPROTO_TCP), TCP_NODELAY, to: CInt(1)) }

    func set<Value: BitwiseCopyable>(_ level: CInt, _ option: CInt, to value: Value) {
        withUnsafePointer(to: value) {
            _ = setsockopt(descriptor, level, option, $0, socklen_t(MemoryLayout<Value>.size))
        }
    }
}

import CLinux
import Glibc

/// A connected stream socket, closed when its owner lets go of it. Non-blocking, not inherited by children, and
/// sending small pieces at once.
package struct Socket: ~Copyable, Sendable {
    package let descriptor: CInt

    package init(owning descriptor: CInt) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Gives the descriptor away, unclosed.
    package consuming func release() -> CInt {
        let descriptor = self.descriptor
        discard self
        return descriptor
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
        let count = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
        if count >= 0 { return .bytes(count) }
        if errno == EAGAIN || errno == EINTR { return .wantsWrite }
        throw IOError(errno: errno, doing: "writing to the socket")
    }

    /// Tells the peer that nothing more will come; reading goes on.
    package func closeWriting() {
        shutdown(descriptor, CInt(SHUT_WR))
    }

    /// Has the kernel end the connection when the peer's kernel has not acknowledged what was sent to it for so long, or
    /// has had no room for more.
    package func giveUp(unacknowledgedAfter limit: Duration) {
        var milliseconds = CUnsignedInt(clamping: limit.nanoseconds / 1_000_000)
        setsockopt(
            descriptor,
            CInt(IPPROTO_TCP),
            TCP_USER_TIMEOUT,
            &milliseconds,
            socklen_t(MemoryLayout.size(ofValue: milliseconds))
        )
    }

    /// Has the kernel reset the connection when it is closed, instead of ending it politely.
    package func resetWhenClosed() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    }

    /// The failure that the kernel keeps for a socket, as after a connect that ended later; 0 when there is none.
    func pendingError() -> CInt {
        var number: CInt = 0
        var size = socklen_t(MemoryLayout.size(ofValue: number))
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &size)
        return number
    }

    /// Small pieces are sent at once: our own code gathers what belongs together.
    func setNoDelay() {
        var yes: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout.size(ofValue: yes)))
    }
}

import CarillonCLinux
import Glibc

/// Calls that make sockets with flags, and those whose names only Linux has.
enum SocketCalls {
    static let streamType = CInt(SOCK_STREAM.rawValue)
    /// A write to a closed connection must not raise `SIGPIPE`, which would end the program.
    static let sendFlags = CInt(MSG_NOSIGNAL)

    static func make(family: CInt) -> CInt {
        socket(family, streamType | CInt(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    }

    static func makePair(isBlocking: Bool, _ descriptors: inout [CInt]) -> CInt {
        let flags = isBlocking ? SOCK_CLOEXEC.rawValue : SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        return socketpair(AF_UNIX, streamType | CInt(flags), 0, &descriptors)
    }

    static func accept(on listener: CInt) -> CInt {
        accept4(listener, nil, nil, CInt(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue))
    }

    static func giveUp(_ socket: borrowing Socket, unacknowledgedAfter limit: Duration) {
        socket.set(CInt(IPPROTO_TCP), TCP_USER_TIMEOUT, to: CUnsignedInt(clamping: limit.nanoseconds / 1_000_000))
    }

    /// TIOCOUTQ has the same value as SIOCOUTQ, which the Linux manual names for sockets.
    static func unacknowledged(on descriptor: CInt) -> Int {
        var count: CInt = 0
        _ = ioctl(descriptor, UInt(TIOCOUTQ), &count)
        return Int(count)
    }
}

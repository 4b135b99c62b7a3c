import CLinux
import Glibc

/// Two sockets connected with each other.
package struct SocketPair: ~Copyable, Sendable {
    package let first: Socket
    package let second: Socket

    package init() throws(IOError) {
        var descriptors: [CInt] = [-1, -1]
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        _ = try SystemCall.check("making a pair of sockets") { socketpair(AF_UNIX, kind, 0, &descriptors) }
        first = Socket(owning: descriptors[0])
        second = Socket(owning: descriptors[1])
    }

    /// Gives both descriptors away, unclosed.
    package consuming func release() -> (CInt, CInt) {
        (first.release(), second.release())
    }
}

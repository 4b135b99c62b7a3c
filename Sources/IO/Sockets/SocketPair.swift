import CLinux
import Glibc

/// Two local sockets connected with each other.
package struct SocketPair: ~Copyable, Sendable {
    package let first: Socket
    package let second: Socket

    /// - Parameter isBlocking: for an end that goes to a child process, which expects to be able to wait in a read.
    package init(isBlocking: Bool = false) throws(IOError) {
        var descriptors: [CInt] = [-1, -1]
        let kind = isBlocking ? CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue) : Socket.kind
        _ = try SystemCall.check("making a pair of sockets") { socketpair(AF_UNIX, kind, 0, &descriptors) }
        first = Socket(owning: descriptors[0])
        second = Socket(owning: descriptors[1])
    }

    /// Gives both descriptors away, unclosed.
    package consuming func release() -> (CInt, CInt) { (first.release(), second.release()) }
}

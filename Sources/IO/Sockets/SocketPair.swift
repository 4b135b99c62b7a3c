import CarillonCLinux
import Glibc

/// Two local sockets connected to each other.
package struct SocketPair: ~Copyable, Sendable {
    package let first: Socket
    package let second: Socket

    /// - Parameter isBlocking: for a child process, which expects its reads to block.
    package init(isBlocking: Bool = false) throws(IOError) {
        var descriptors: [CInt] = [-1, -1]
        _ = try SystemCall.check("making a pair of sockets") {
            let flags = isBlocking ? CInt(SOCK_CLOEXEC.rawValue) : Socket.flags
            return socketpair(AF_UNIX, Socket.streamType | flags, 0, &descriptors)
        }
        first = Socket(owning: descriptors[0])
        second = Socket(owning: descriptors[1])
    }

    /// Gives up both descriptors without closing them.
    package consuming func release() -> (CInt, CInt) { (first.release(), second.release()) }
}

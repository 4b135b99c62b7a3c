import Glibc
import IO

/// Our end of a pair of sockets whose other end a cluster's guard reads. The kernel closes ours when this process ends,
/// however it ends, and then the guard stops the cluster.
final class Leash: Sendable {
    private let descriptor: CInt

    /// Gives the other end too, which the caller closes when the guard has it.
    static func make() throws(IOError) -> (leash: Leash, other: CInt) {
        var ends: (CInt, CInt) = (-1, -1)
        let result = withUnsafeMutableBytes(of: &ends) { raw in
            socketpair(
                AF_UNIX,
                CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue),
                0,
                raw.assumingMemoryBound(to: CInt.self).baseAddress!
            )
        }
        guard result == 0 else { throw IOError(errno: errno, doing: "making a pair of sockets") }
        return (Leash(ends.0), ends.1)
    }

    private init(_ descriptor: CInt) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// A guard that is gone reads nothing, which is fine: so is its cluster.
    func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL))
    }
}

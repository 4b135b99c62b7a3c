import Glibc

/// A message to a Unix socket, in one piece.
package enum Datagram {
    /// Waits for a second at most, while the receiver has no room.
    ///
    /// - Parameter path: A file, or with an @ at its beginning a name in the abstract namespace. unix(7).
    package static func send(_ text: String, to path: String) throws(IOError) {
        let (bytes, doing) = (Array(text.utf8), "writing to \(path)")
        var (name, address) = (Array(path.utf8), sockaddr_un())
        if name.first == UInt8(ascii: "@") { name[0] = 0 }
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard name.count < room else { throw IOError(errno: ENAMETOOLONG, doing: doing) }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size - room + name.count)
        let socket = try OwnedDescriptor("making a socket") {
            Glibc.socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        }
        var limit = timeval(tv_sec: 1, tv_usec: 0)
        setsockopt(socket.number, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        _ = try SystemCall.check(doing) {
            withUnsafeBytes(of: &address) { raw in
                let address = raw.assumingMemoryBound(to: sockaddr.self).baseAddress
                return CInt(sendto(socket.number, bytes, bytes.count, Socket.sendFlags, address, length))
            }
        }
    }
}

import Glibc

/// A port of this machine that lets nobody in and sends nobody away: whoever connects waits for an answer, as though the
/// network had swallowed the question. On any address that begins with 127.
package struct SilentPort: ~Copyable {
    private let listener: CInt
    private let fillers: [CInt]
    package let port: UInt16

    /// - Parameter port: 0 lets the system choose.
    package init(host: String, port: UInt16 = 0) throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else { throw Failure(what: "\(host) is no address") }
        let listener = Self.socket()
        guard Self.with(&address, { bind(listener, $0, $1) }) == 0, listen(listener, 0) == 0 else {
            close(listener)
            throw Failure(what: "no port on \(host)")
        }
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &length) }
        }
        // The queue of those who wait to be accepted is full with these; what comes after them is dropped.
        var fillers: [CInt] = []
        for _ in 0..<8 {
            let filler = Self.socket()
            _ = Self.with(&address) { connect(filler, $0, $1) }
            fillers.append(filler)
        }
        self.port = UInt16(bigEndian: address.sin_port)
        self.listener = listener
        self.fillers = fillers
    }

    deinit {
        for filler in self.fillers { close(filler) }
        close(self.listener)
    }

    private struct Failure: Error {
        let what: String
    }

    private static func socket() -> CInt {
        Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    }

    private static func with(
        _ address: inout sockaddr_in,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) -> CInt {
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}

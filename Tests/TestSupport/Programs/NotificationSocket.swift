package import CarillonIO
import Glibc

/// The socket of a service manager, to which programs send datagrams.
package final class NotificationSocket {
    private static let longestWait = Duration.seconds(60)

    private let descriptor: CInt

    /// - Parameter name: A path, or a name in the abstract namespace that begins with @.
    package init(at name: String) throws {
        descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(name.utf8)
        if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout.offset(of: \sockaddr_un.sun_path)! + bytes.count)
        let result = withUnsafeBytes(of: &address) { raw in
            bind(descriptor, raw.assumingMemoryBound(to: sockaddr.self).baseAddress, length)
        }
        guard result == 0 else { throw IOError(errno: errno, doing: "binding \(name)") }
    }

    deinit { close(descriptor) }

    /// The next datagram; nil if none has come.
    package func received() -> String? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    package func next(on loop: EventLoop) async throws -> String {
        while true {
            if let text = received() { return text }
            let deadline = MonotonicInstant.now + Self.longestWait
            _ = try await loop.readiness(of: descriptor, for: .read, until: deadline, doing: "waiting for a datagram")
        }
    }

    /// Skips what comes before it.
    package func wait(for text: String, on loop: EventLoop) async throws {
        while try await next(on: loop) != text {}
    }
}

import CarillonIO
import Glibc

/// Plain sockets to a server on this machine, which send HTTP byte for byte.
package enum RawHTTP {
    /// Blocks only a thread of its own, because the handlers need the threads of the tasks.
    private static func onThread<R: Sendable>(
        _ body: @escaping @Sendable () -> R,
        orElse failed: (any Error) -> R
    ) async -> R {
        await withCheckedContinuation { continuation in
            do {
                try Thread.detach(name: "test client") { continuation.resume(returning: body()) }
            } catch {
                continuation.resume(returning: failed(error))
            }
        }
    }

    /// Sends the text, and returns everything that arrives until the server closes the connection or the response is whole.
    package static func exchange(
        _ port: UInt16,
        _ text: String,
        until isWhole: @escaping @Sendable ([UInt8]) -> Bool = { _ in false }
    ) async -> String {
        await onThread {
            exchangeNow(port, Array(text.utf8), isWhole)
        } orElse: {
            "\($0)"
        }
    }

    /// The same for any bytes, after which nothing more is sent.
    package static func send(_ port: UInt16, _ bytes: [UInt8]) async -> String {
        await onThread {
            exchangeNow(port, bytes, andEnd: true) { _ in false }
        } orElse: {
            "\($0)"
        }
    }

    /// One request on a connection of its own, and all of its response.
    package static func ask(_ port: UInt16, _ line: String, headers: String = "", body: String = "") async -> String {
        await exchange(port, "\(line) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(headers)\r\n\(body)")
    }

    /// Sends a request from that address of this machine, 127.0.0.x, and closes the connection after that time. Returns the status
    /// that was answered, or nothing.
    package static func knock(_ port: UInt16, from host: UInt8, _ text: String, for duration: Duration) async -> String
    {
        await onThread {
            knockNow(port, host, text, .now + duration)
        } orElse: {
            "\($0)"
        }
    }

    private static func knockNow(_ port: UInt16, _ host: UInt8, _ text: String, _ end: MonotonicInstant) -> String {
        let descriptor = connected(port, from: host)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var timeout = timeval(tv_sec: 0, tv_usec: 100_000)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &timeout, socklen_t(MemoryLayout<timeval>.size))
        }
        var rest = Array(text.utf8)[...]
        var head: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while .now < end {
            if !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
                }
                if count < 0, errno != EAGAIN { break }
                rest = rest.dropFirst(max(0, count))
                if !rest.isEmpty { continue }
            }
            let count = recv(descriptor, &chunk, chunk.count, 0)
            if count == 0 || count < 0 && errno != EAGAIN { break }
            if head.count < 12 { head += chunk[..<max(0, count)] }
        }
        return head.count < 12 ? "" : String(decoding: head[9..<12], as: UTF8.self)
    }

    /// Sends a request, and closes the connection when something of the response has arrived.
    package static func leave(_ port: UInt16, _ text: String) async throws {
        try await hold(port, text) {}
    }

    /// Sends a request, reads the beginning of the response, and nothing more while the body runs.
    package static func hold(_ port: UInt16, _ text: String, _ body: () async throws -> Void) async throws {
        let descriptor = await onThread {
            begin(port, text)
        } orElse: { _ in
            -1
        }
        defer { close(descriptor) }
        try await body()
    }

    private static func begin(_ port: UInt16, _ text: String) -> CInt {
        let descriptor = connected(port)
        var first: UInt8 = 0
        _ = Array(text.utf8).withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
        _ = recv(descriptor, &first, 1, 0)
        return descriptor
    }

    /// From 127.0.0.x. The caller closes it.
    package static func connected(_ port: UInt16, from host: UInt8 = 1) -> CInt {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        func with(_ host: UInt8, _ port: UInt16, _ call: (UnsafePointer<sockaddr>) -> CInt) -> Bool {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = (in_addr_t(0x7f00_0000) + in_addr_t(host)).bigEndian
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0) == 0 }
            }
        }
        let isConnected =
            with(host, 0) { bind(descriptor, $0, size) } && with(1, port) { connect(descriptor, $0, size) }
        guard !isConnected else { return descriptor }
        close(descriptor)
        return -1
    }

    private static func exchangeNow(
        _ port: UInt16,
        _ bytes: [UInt8],
        andEnd isLast: Bool = false,
        _ isWhole: ([UInt8]) -> Bool
    ) -> String {
        let descriptor = connected(port)
        guard descriptor >= 0 else { return "no connection" }
        defer { close(descriptor) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
            if count <= 0 { break }
            rest = rest.dropFirst(count)
        }
        if isLast { shutdown(descriptor, CInt(SHUT_WR)) }
        var all: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            if count <= 0 { return String(decoding: all, as: UTF8.self) }
            all += chunk[..<count]
            if isWhole(all) { return String(decoding: all, as: UTF8.self) }
        }
    }
}

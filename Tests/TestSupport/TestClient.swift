import CarillonIO
import Glibc

/// A plain socket to a server on this machine: HTTP as the bytes that are written here.
package enum TestClient {
    /// Writes all, and gives all that comes until the server closes the connection. Blocks only a thread of its own:
    /// the handlers need those of the tasks.
    package static func exchange(_ port: UInt16, _ text: String) async -> String {
        await withCheckedContinuation { continuation in
            do {
                try Thread.detach(name: "test client") { continuation.resume(returning: Self.exchangeNow(port, text)) }
            } catch {
                continuation.resume(returning: "\(error)")
            }
        }
    }

    /// One request on a connection of its own, and all of its response.
    package static func ask(_ port: UInt16, _ line: String, headers: String = "", body: String = "") async -> String {
        await exchange(port, "\(line) HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\(headers)\r\n\(body)")
    }

    private static func exchangeNow(_ port: UInt16, _ text: String) -> String {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) == 0 }
        }
        guard isConnected else { return "no connection" }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
            if count <= 0 { break }
            rest = rest.dropFirst(count)
        }
        var all: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            if count <= 0 { return String(decoding: all, as: UTF8.self) }
            all += chunk[..<count]
        }
    }
}

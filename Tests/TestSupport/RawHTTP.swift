import CarillonIO
import Glibc

/// A plain socket to a server on this machine: HTTP as the bytes that are written here.
package enum RawHTTP {
    /// Writes all, and gives all that comes until the server closes the connection; or until what has come is whole. Blocks only a
    /// thread of its own: the handlers need those of the tasks.
    package static func exchange(
        _ port: UInt16,
        _ text: String,
        until isWhole: @escaping @Sendable ([UInt8]) -> Bool = { _ in false }
    ) async -> String {
        await withCheckedContinuation { continuation in
            do {
                try Thread.detach(name: "test client") {
                    continuation.resume(returning: Self.exchangeNow(port, text, isWhole))
                }
            } catch {
                continuation.resume(returning: "\(error)")
            }
        }
    }

    /// One request on a connection of its own, and all of its response.
    package static func ask(_ port: UInt16, _ line: String, headers: String = "", body: String = "") async -> String {
        await exchange(port, "\(line) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(headers)\r\n\(body)")
    }

    /// Sends a request, and closes the connection when something of the response has arrived.
    package static func leave(_ port: UInt16, _ text: String) async throws {
        try await hold(port, text) {}
    }

    /// Sends a request, reads the beginning of the response, and nothing more while the body runs.
    package static func hold(_ port: UInt16, _ text: String, _ body: () async throws -> Void) async throws {
        let descriptor = await withCheckedContinuation { continuation in
            do {
                try Thread.detach(name: "test client") { continuation.resume(returning: Self.begin(port, text)) }
            } catch {
                continuation.resume(returning: CInt(-1))
            }
        }
        defer { close(descriptor) }
        try await body()
    }

    private static func begin(_ port: UInt16, _ text: String) -> CInt {
        let descriptor = connected(port)
        var first: UInt8 = 0
        _ = Array(text.utf8).withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
        _ = recv(descriptor, &first, 1, 0)
        return descriptor
    }

    private static func connected(_ port: UInt16) -> CInt {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) == 0 }
        }
        guard !isConnected else { return descriptor }
        close(descriptor)
        return -1
    }

    private static func exchangeNow(_ port: UInt16, _ text: String, _ isWhole: ([UInt8]) -> Bool) -> String {
        let descriptor = connected(port)
        guard descriptor >= 0 else { return "no connection" }
        defer { close(descriptor) }
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
            if isWhole(all) { return String(decoding: all, as: UTF8.self) }
        }
    }
}

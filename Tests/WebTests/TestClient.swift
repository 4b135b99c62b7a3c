import Glibc

/// A plain socket to a server on this machine: HTTP as the bytes that are written here.
struct TestClient: ~Copyable {
    private let descriptor: CInt

    init(port: UInt16) {
        self.descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        var limit = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(self.descriptor, $0, size) }
        }
    }

    deinit {
        close(self.descriptor)
    }

    func write(_ text: String) {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                send(self.descriptor, $0.baseAddress! + sent, $0.count - sent, CInt(MSG_NOSIGNAL))
            }
            if count <= 0 { return }
            sent += count
        }
    }

    /// All that comes until the server closes the connection.
    func readToEnd() -> String {
        var all: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(self.descriptor, &chunk, chunk.count, 0)
            if count <= 0 { return String(decoding: all, as: UTF8.self) }
            all += chunk[..<count]
        }
    }

    /// One request on a connection of its own, and all of its response.
    static func ask(_ port: UInt16, _ line: String, headers: String = "", body: String = "") -> String {
        let client = TestClient(port: port)
        client.write("\(line) HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\(headers)\r\n\(body)")
        return client.readToEnd()
    }
}

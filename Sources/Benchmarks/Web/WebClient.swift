import CarillonIO

/// An HTTP/1.1 client that keeps its connection open, as a browser does.
final class WebClient {
    struct PageAnswer {
        let status: Int
        let body: String
        let bytes: Int
        /// The time from the first byte of the request to the last byte of the answer.
        let time: Duration
    }

    private let host: String
    private let socket: Socket
    private let loop: EventLoop

    init(port: UInt16, on loop: EventLoop) async throws {
        host = "localhost:\(port)"
        socket = try await TCP.connect(host: "127.0.0.1", port: port, timeout: .seconds(10), on: loop)
        self.loop = loop
    }

    func get(_ address: String, accepting type: String = "text/html") async throws -> PageAnswer {
        let start = MonotonicInstant.now
        let request = Array("GET \(address) HTTP/1.1\r\nHost: \(host)\r\nAccept: \(type)\r\n\r\n".utf8)
        try socket.writeWhole(request, for: address)
        var head = ""
        var length: Int?
        var received: [UInt8] = []
        while length.map({ received.count < $0 }) ?? true {
            received += try await socket.bytes(on: loop, doing: "waiting for \(address)")
            guard length == nil, let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { continue }
            head = String(decoding: received[..<end.lowerBound], as: UTF8.self)
            received.removeFirst(end.upperBound)
            guard let digits = head.firstMatch(of: #/(?i)\r\ncontent-length: ([0-9]+)/#)?.output.1 else {
                throw BenchmarkError("The answer for \(address) has no length: \(head)")
            }
            length = Int(digits)
        }
        let time = MonotonicInstant.now - start
        let body = String(decoding: received, as: UTF8.self)
        return PageAnswer(status: Int(head.dropFirst(9).prefix(3)) ?? 0, body: body, bytes: received.count, time: time)
    }
}

extension Socket {
    /// Writes a request, which is small.
    func writeWhole(_ request: [UInt8], for address: String) throws {
        guard try write(request.span.bytes) == .bytes(request.count) else {
            throw BenchmarkError("A request for \(address) did not fit into the send buffer.")
        }
    }

    /// Reads the next bytes, at least one.
    func bytes(on loop: EventLoop, doing: String, within limit: Duration = .seconds(60)) async throws -> [UInt8] {
        let deadline = MonotonicInstant.now + limit
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            switch try read(into: &chunk) {
            case .bytes(let count): return Array(chunk[..<count])
            case .closed: throw BenchmarkError("The dashboard has closed the connection while \(doing).")
            case .wantsRead, .wantsWrite:
                _ = try await loop.readiness(of: descriptor, for: .read, until: deadline, doing: doing)
            }
        }
    }
}

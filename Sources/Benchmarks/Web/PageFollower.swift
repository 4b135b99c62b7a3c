import CarillonIO

/// A page that somebody keeps open: reads its server-sent events, as the page's script does.
actor PageFollower {
    private let address: String
    private let socket: Socket
    private let loop: EventLoop
    private var hasBegun = false
    private var events = 0
    /// The end of the bytes read so far: an event may begin in one piece and continue in the next.
    private var tail: [UInt8] = []

    private static let beginning = Array("data: {".utf8)

    /// Returns once the page has been sent for the first time.
    init(_ address: String, port: UInt16, on loop: EventLoop) async throws {
        self.address = address
        self.loop = loop
        socket = try await TCP.connect(host: "127.0.0.1", port: port, timeout: .seconds(10), on: loop)
        let page = address.utf8.reduce(into: "") { text, byte in
            text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        let request = "GET /live?page=\(page) HTTP/1.1\r\nHost: localhost:\(port)\r\nAccept: text/event-stream\r\n\r\n"
        try socket.writeWhole(Array(request.utf8), for: address)
        while events == 0 { try await read() }
    }

    /// Reads until the task is cancelled.
    func stay() async throws {
        while true {
            do {
                try await read()
            } catch {
                guard (error as? IOError)?.code == .cancelled else { throw error }
                return
            }
        }
    }

    private func read() async throws {
        let bytes = tail + (try await socket.bytes(on: loop, doing: "reading \(address)"))
        if !hasBegun, !bytes.starts(with: Array("HTTP/1.1 200".utf8)) {
            throw BenchmarkError("\(address) is not a live page: \(String(decoding: bytes, as: UTF8.self))")
        }
        hasBegun = true
        var rest = bytes[...]
        while let range = rest.firstRange(of: Self.beginning) {
            events += 1
            rest = rest[range.upperBound...]
        }
        tail = Array(rest.suffix(Self.beginning.count - 1))
    }
}

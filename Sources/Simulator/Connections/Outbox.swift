import CarillonHTTP2
import CarillonIO
import CarillonTLS

/// Output of a session that the socket has not accepted yet.
struct Outbox {
    private static let limit = 65_536

    private var bytes: [UInt8] = []
    private var written = 0

    var isEmpty: Bool { written == bytes.count }

    mutating func fill(from session: ServerSession) throws {
        bytes.removeAll(keepingCapacity: true)
        written = 0
        try session.drain(into: &bytes, limit: Self.limit)
    }

    mutating func write(to stream: inout TLSStream) throws -> WriteResult {
        let result = try stream.write(bytes.span.bytes.extracting(written..<bytes.count))
        if case .bytes(let count) = result { written += count }
        return result
    }
}

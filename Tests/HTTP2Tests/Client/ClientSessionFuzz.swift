import CarillonHTTP2
import TestSupport

/// What became of the tags of a session that was fed by `fuzzClientSession`.
struct ClientSessionFuzz {
    var submitted: [UInt32] = []
    var ended: [UInt32] = []
    var answered = 0
    var openStreams = 0

    /// Every tag that was taken ended, and none twice.
    var isSound: Bool { ended.sorted() == submitted }
}

/// Lets `bytes` decide what a peer sends and what we do meanwhile: submit, give up, drain, feed, in whatever order.
func fuzzClientSession(_ bytes: [UInt8]) throws -> ClientSessionFuzz {
    var reader = FuzzReader(bytes: bytes)
    var outcome = ClientSessionFuzz()
    let client = try ClientEnd()
    while !reader.isAtEnd {
        // Errors are part of the game; what counts is how the tags end.
        try? reader.step(client, &outcome)
        client.readEvents()
        if reader.byte() & 7 == 0 { _ = try? client.drain(limit: Int(reader.byte()) * 16) }
    }
    _ = try? client.drain()
    client.end()
    outcome.ended = client.ended
    outcome.answered = client.answers.count
    outcome.openStreams = client.session.openStreams
    return outcome
}

private struct FuzzReader {
    let bytes: [UInt8]
    var position = 0

    var isAtEnd: Bool { position >= bytes.count }

    mutating func byte() -> UInt8 {
        defer { position += 1 }
        return isAtEnd ? 0 : bytes[position]
    }

    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in byte() } }

    /// A number that is small as a rule, and sometimes anything.
    mutating func number() -> UInt32 {
        let first = byte()
        guard first >= 240 else { return UInt32(first) }
        return bytes(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    mutating func step(_ client: ClientEnd, _ outcome: inout ClientSessionFuzz) throws {
        let streams = UInt32(outcome.submitted.count)
        switch byte() & 31 {
        case 0...7:
            try client.push(streams, payload: String(repeating: "x", count: Int(byte())))
            outcome.submitted.append(streams)
            if byte() & 31 != 0 { _ = try client.drain() }
        case 8...19 where streams > 0: try client.feed(answer(streams))
        case 20, 21:
            guard let submission = client.submissions[number()] else { return }
            client.session.reset(submission)
        case 22...24: _ = try client.drain()
        case 25: try client.feed(FrameBytes.settings([(3, number()), (4, number() & 0xffff)]))
        case 26 where streams > 0: try client.feed(FrameBytes.windowUpdate(stream(streams), UInt32(byte()) + 1))
        case 27 where streams > 0 && byte() < 64:
            let piece = bytes(Int(byte()))
            try client.feed(FrameBytes.data(stream(streams), piece, end: byte() & 1 == 0))
        case 28 where streams > 0: try client.feed(FrameBytes.reset(stream(streams), number() & 15))
        case 29: try client.session.ping()
        case 30 where byte() < 32:
            try client.feed(FrameBytes.goAway(last: number() << 1 & 0x7fff_fffe | 1, number() & 15, "debug"))
        case 31 where byte() < 32: try client.feed(nonsense())
        default: try client.feed(FrameBytes.ping(number(), acknowledgement: byte() & 1 == 0))
        }
    }

    /// A stream that was opened, unless there is none.
    private mutating func stream(_ count: UInt32) -> UInt32 { (number() % max(count, 1)) << 1 | 1 }

    private mutating func answer(_ streams: UInt32) -> [UInt8] {
        let statuses = ["200", "410", "103", "200", "400", "099", "200", "x"]
        let kind = byte()
        var fields = [(":status", statuses[Int(kind & 7)]), ("apns-id", "id")]
        if kind & 16 != 0 { fields.append(("retry-after", String(byte()))) }
        if kind & 96 == 96 { fields.append((":status", "200")) }
        return FrameBytes.headers(stream(streams), fields, end: kind & 128 == 0)
    }

    private mutating func nonsense() -> [UInt8] {
        let (type, flags, stream) = (byte() & 15, byte(), number())
        let payload = bytes(Int(byte()) & 63)
        return switch type {
        case 11: payload
        case 12: FrameBytes.windowUpdate(stream, number())
        case 13: FrameBytes.settings([(UInt16(flags & 15), number())])
        default: FrameBytes.frame(type, flags: flags, stream: stream, payload)
        }
    }
}

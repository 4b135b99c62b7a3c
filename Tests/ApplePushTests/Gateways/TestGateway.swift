import ApplePush
import CarillonHTTP2
import CarillonIO
import CarillonTLS
import Synchronization
import TestSupport

/// A server over real TLS and HTTP/2 that handles each request as a test tells it to.
final class TestGateway: Sendable {
    /// A request that arrived.
    struct Seen: Sendable {
        /// The connection, counted from 1.
        let connection: Int
        /// The request's number on its connection, counted from 1.
        let number: Int
        let stream: Int32
        let fields: [String: String]
        let body: String

        var token: String { String(fields[":path"]?.split(separator: "/").last ?? "") }
        var id: String { fields["apns-id"] ?? "" }
    }

    /// What to do about a request.
    enum Act: Sendable {
        case answer(UInt16, String = "", retryAfter: Int? = nil)
        /// Answers an earlier request on the same connection.
        case answerEarlier(stream: Int32, UInt16)
        case reset(ErrorCode)
        case goAway(last: Int32?, ErrorCode = .noError, String = "")
        case allow(streams: UInt32)
        /// Writes the answers so far, and does nothing more on this connection until the gate opens.
        case wait(Gate)
        /// Closes the socket without close_notify, after what was written so far.
        case hangUp
        /// Closes the socket after close_notify.
        case close
    }

    private let loop: EventLoop
    private let context: TLSContext
    private let streams: UInt32
    private let act: @Sendable (Seen) -> [Act]
    private let log = Guarded<[Seen]>([])
    private let accepted = Atomic<Int>(0)
    /// The numbers of the connections that ended, in that order.
    let ends: AsyncStream<Int>
    private let ended: AsyncStream<Int>.Continuation

    private init(
        on loop: EventLoop,
        streams: UInt32,
        clients: TLSContext.ClientCertificates,
        act: @escaping @Sendable (Seen) -> [Act]
    ) throws {
        self.loop = loop
        self.streams = streams
        self.act = act
        (ends, ended) = AsyncStream.makeStream()
        context = try ServerCertificate(for: ["127.0.0.1"], by: TestCredential.authority).context(clients: clients)
    }

    /// A gateway around a test.
    static func with<R>(
        port: UInt16 = 0,
        streams: UInt32 = 100,
        clients: TLSContext.ClientCertificates = .requested(),
        _ act: @escaping @Sendable (Seen) -> [Act] = { _ in [.answer(200)] },
        test: (TestGateway, Gateway) async throws -> R
    ) async throws -> R {
        try await TestLoop.with { loop in
            let server = try TestGateway(on: loop, streams: streams, clients: clients, act: act)
            return try await Reception.with(port: port, on: loop) { number, descriptor in
                defer { server.ended.yield(number) }
                try await server.serve(Socket(owning: descriptor), number)
            } test: { _, port in
                try await test(
                    server,
                    Gateway(host: "127.0.0.1", port: port, trust: .pem(TestCredential.authority.pem))
                )
            }
        }
    }

    /// Every request so far.
    var seen: [Seen] { log.withLock { $0 } }

    /// How many connections were accepted.
    var connections: Int { accepted.load(ordering: .relaxed) }

    private func serve(_ socket: consuming Socket, _ connection: Int) async throws {
        accepted.wrappingAdd(1, ordering: .relaxed)
        var stream = try await TLSStream.accept(socket, context: context, timeout: .seconds(60), on: loop)
        var settings = ServerSettings()
        settings.maxConcurrentStreams = self.streams
        let session = try ServerSession(settings)
        var input = [UInt8](repeating: 0, count: 16_384)
        var number = 0
        var lastStream: Int32?
        try await write(session, &stream)
        while !session.isFinished {
            let count = try await stream.receive(into: &input, until: .now + .seconds(60), on: loop)
            if count == 0 { return }
            try session.feed(input.span.bytes.extracting(0..<count))
            while let event = session.nextEvent() {
                guard case .request(let request) = event else { continue }
                // Streams above the last one of a GOAWAY are ignored.
                if let lastStream, request.stream > lastStream { continue }
                number += 1
                let seen = Self.read(request, in: session, connection: connection, number: number)
                log.withLock { $0.append(seen) }
                for act in self.act(seen) {
                    switch act {
                    case .answer(let status, let body, let retryAfter):
                        var block = HeaderBlock(status: status)
                        if let retryAfter { block.append("retry-after", String(retryAfter)) }
                        try session.respond(to: request.stream, block, body: body.utf8Span.span.bytes)
                    case .answerEarlier(let stream, let status):
                        try session.respond(to: stream, HeaderBlock(status: status), body: RawSpan())
                    case .reset(let code): try session.reset(request.stream, code)
                    case .goAway(let last, let code, let text):
                        try session.goAway(last: last, code, debugData: Array(text.utf8))
                        lastStream = last
                    case .allow(let streams): try session.allow(maxConcurrentStreams: streams)
                    case .wait(let gate):
                        try await write(session, &stream)
                        await gate.pass()
                    case .hangUp: return try await write(session, &stream)
                    case .close:
                        try await write(session, &stream)
                        return stream.closeNotify()
                    }
                }
            }
            try await write(session, &stream)
        }
    }

    private func write(_ session: ServerSession, _ stream: inout TLSStream) async throws {
        var output: [UInt8] = []
        try session.drain(into: &output)
        try await stream.send(output, until: .now + .seconds(60), on: loop)
    }

    private static func read(_ request: HTTP2Request, in session: ServerSession, connection: Int, number: Int) -> Seen {
        session.withRequest(request) { bytes, fields in
            func text(_ range: ByteRange) -> String {
                bytes.extracting(range.range).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            }
            var named: [String: String] = [:]
            for index in fields.indices { named[text(fields[index].name)] = text(fields[index].value) }
            return Seen(
                connection: connection,
                number: number,
                stream: request.stream,
                fields: named,
                body: text(request.body)
            )
        }
    }
}

import CarillonIO
import TestSupport
import Testing

@testable import CarillonHTTP2

/// A server session that answers as it is told.
final class ServerEnd {
    struct Received: Equatable {
        var stream: Int32
        var fields: [String]
        var body: String
    }

    /// The fields of a request.
    static let good = [
        (":method", "POST"), (":scheme", "https"), (":authority", "localhost"), (":path", "/3/device/00"),
    ]

    let session: ServerSession
    var received: [Received] = []
    /// The requests whose streams had ended before they were read.
    var gone: [Int32] = []
    var abandoned: [Int32: ErrorCode] = [:]
    /// What comes back for a request, or nothing.
    var answer: (Received) -> (status: UInt16, body: String)? = { _ in (200, "") }

    init(_ settings: ServerSettings = ServerSettings()) throws {
        session = try ServerSession(settings)
    }

    /// A server that has a client's settings.
    static func greeted() throws -> ServerEnd {
        let server = try ServerEnd()
        try server.feed(FrameBytes.preface + FrameBytes.settings() + FrameBytes.settingsAcknowledgement)
        _ = try server.drain()
        return server
    }

    func feed(_ bytes: [UInt8]) throws {
        defer { readEvents() }
        try session.feed(bytes.span.bytes)
    }

    func drain(limit: Int = .max) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try session.drain(into: &bytes, limit: limit)
        readEvents()
        return bytes
    }

    func readEvents() {
        while let event = session.nextEvent() {
            switch event {
            case .request(let request): handle(request)
            case .abandoned(let request, let code): abandoned[request.stream] = code
            case .refused: break
            }
        }
    }

    private func handle(_ request: HTTP2Request) {
        let received = session.withRequest(request) { bytes, fields in
            Received(
                stream: request.stream,
                fields: fields.indices.map {
                    text(bytes.extracting(fields[$0].name.range)) + "="
                        + text(bytes.extracting(fields[$0].value.range))
                },
                body: text(bytes.extracting(request.body.range))
            )
        }
        self.received.append(received)
        if request.isGone { gone.append(request.stream) }
        guard let (status, body) = answer(received) else { return }
        respond(to: received, status, body)
    }

    func respond(to request: Received, _ status: UInt16, _ body: String) {
        var block = HeaderBlock(status: status)
        if let id = request.fields.first(where: { $0.hasPrefix("apns-id=") }) {
            block.append("apns-id", String(id.dropFirst(8)), indexing: .never)
        }
        if status == 429 { block.append("retry-after", "17") }
        let bytes = Array(body.utf8)
        #expect(throws: Never.self) {
            try session.respond(to: request.stream, block, body: bytes.span.bytes)
        }
    }
}

import CarillonIO

@testable import CarillonHTTP2

/// A client session and the peer that reads its requests.
final class RequestClient {
    let session: ClientSession
    let reader: RequestReader
    private var tag: UInt32 = 0

    init(_ settings: [(UInt16, UInt32)] = []) throws {
        session = try ClientSession()
        reader = try RequestReader()
        try announce(settings)
        try drain()
    }

    /// What our encoder thinks that the decoder's table has.
    var tableSize: Int { session.streams.pointee.encoder.table.size }

    static func block(
        path: String = "/3/device/",
        _ fields: [(StaticString, String)] = [("apns-topic", "com.example.app"), ("apns-push-type", "alert")]
    ) -> HeaderBlock {
        var block = HeaderBlock(method: "POST", authority: "api.push.apple.com", path: path)
        for (name, value) in fields { block.append(name, value) }
        block.append("authorization", "bearer secret", indexing: .never)
        block.appendVarying("apns-id")
        return block
    }

    func announce(_ values: [(UInt16, UInt32)]) throws {
        let bytes = reader.settings(values)
        try session.feed(bytes.span.bytes)
        while session.nextEvent() != nil {}
    }

    @discardableResult
    func submit(
        _ fields: ClientSession.FieldsID,
        path: String = "token",
        id: String = "an-id"
    ) throws -> ClientSession.Submission {
        tag += 1
        let (path, id) = (Array(path.utf8), Array(id.utf8))
        return try session.submit(fields, pathSuffix: path.span.bytes, varying: id.span.bytes, body: nil, tag: tag)
    }

    @discardableResult
    func drain(limit: Int = .max) throws -> [RequestReader.Request] {
        var bytes: [UInt8] = []
        try session.drain(into: &bytes, limit: limit)
        while session.nextEvent() != nil {}
        return try reader.read(bytes)
    }

    /// Sends one request, and returns it as the peer reads it.
    func send(_ block: HeaderBlock, path: String = "token", id: String = "an-id") throws -> RequestReader.Request? {
        let fields = try session.addFields(block)
        defer { session.release(fields) }
        try submit(fields, path: path, id: id)
        return try drain().first
    }
}

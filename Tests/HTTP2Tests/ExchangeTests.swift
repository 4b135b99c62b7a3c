import HTTP2
import Testing

@Suite struct ExchangeTests {
    @Test func `a request reaches the server and its answer the client`() throws {
        let client = try ClientSession()
        let server = try ServerSession()
        var wire: [UInt8] = []
        try server.drain(into: &wire)
        try client.feed(wire.span.bytes)

        var block = HeaderBlock(method: "POST", authority: "localhost", path: "/3/device/")
        block.append("apns-topic", "com.example.app")
        block.appendVarying("apns-id")
        let fields = try client.addFields(block)
        let payload = Array(#"{"aps":{}}"#.utf8)
        let body = client.addBody(payload.span.bytes)
        let token = Array("00ff".utf8)
        let id = Array("00000000-0000-0000-0000-000000000001".utf8)
        try client.submit(fields, pathSuffix: token.span.bytes, varying: id.span.bytes, body: body, tag: 7)

        wire = []
        try client.drain(into: &wire)
        try server.feed(wire.span.bytes)
        var seen: [String] = []
        while let event = server.nextEvent() {
            guard case .request(let request) = event else { continue }
            server.withRequest(request) { bytes, list in
                for index in list.indices {
                    let name = bytes.extracting(list[index].name.bounds).withUnsafeBytes {
                        String(decoding: $0, as: UTF8.self)
                    }
                    let value = bytes.extracting(list[index].value.bounds).withUnsafeBytes {
                        String(decoding: $0, as: UTF8.self)
                    }
                    seen.append("\(name)=\(value)")
                }
                seen.append(
                    bytes.extracting(request.body.bounds).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
                )
            }
            var answer = HeaderBlock(status: 200)
            answer.append("apns-id", id.span.bytes, indexing: .never)
            try server.respond(to: request.stream, answer, body: RawSpan())
        }
        #expect(
            seen == [
                ":method=POST", ":scheme=https", ":authority=localhost", ":path=/3/device/00ff",
                "apns-topic=com.example.app", "apns-id=00000000-0000-0000-0000-000000000001", #"{"aps":{}}"#,
            ]
        )

        wire = []
        try server.drain(into: &wire)
        try client.feed(wire.span.bytes)
        var statuses: [UInt16] = []
        while let event = client.nextEvent() {
            if case .answered(tag: 7, let answer) = event { statuses.append(answer.status) }
        }
        #expect(statuses == [200])
    }
}

import CarillonHTTP2
import CarillonIO
import TestSupport
import Testing

/// The header blocks of requests, read by nghttp2's decoder.
@Suite struct RequestEncoderTests {
    private func fields(_ request: RequestReader.Request?) -> [String] {
        request?.fields.map { "\($0.name)=\($0.value)" } ?? []
    }

    @Test func `a request has its fields in order, and only those that repeat may be indexed`() throws {
        let client = try RequestClient()
        let request = try #require(try client.send(RequestClient.block(), path: "abc", id: "123"))
        #expect(
            fields(request) == [
                ":method=POST", ":scheme=https", ":authority=api.push.apple.com", ":path=/3/device/abc",
                "apns-topic=com.example.app", "apns-push-type=alert", "authorization=bearer secret", "apns-id=123",
            ]
        )
        let never = request.fields.filter(\.isNeverIndexed).map(\.name)
        #expect(never == [":path", "authorization", "apns-id"])
        #expect(request.endsStream && request.stream == 1)
    }

    @Test func `fields that repeat are sent once, and the table has no other`() throws {
        let client = try RequestClient()
        let block = RequestClient.block()
        let requests = try (0..<100).map { try #require(try client.send(block, path: "token\($0)", id: "id\($0)")) }
        let expected = [":authority", "api.push.apple.com", "apns-topic", "com.example.app", "apns-push-type", "alert"]
        let size = expected.reduce(0) { $0 + $1.utf8.count + 16 }
        #expect(client.reader.decoder.tableSize == size && client.tableSize == size)
        #expect(requests[1].blockCount < requests[0].blockCount - 50)
        #expect(requests[99].blockCount == requests[1].blockCount + 2, "a digit more in token and id")
        #expect(Set(requests.map { fields($0).count }) == [8])
    }

    @Test func `two kinds of requests share what they have in common`() throws {
        let client = try RequestClient()
        let other = RequestClient.block([("apns-topic", "com.example.app"), ("apns-push-type", "background")])
        let first = try #require(try client.send(RequestClient.block()))
        let second = try #require(try client.send(other))
        #expect(second.value("apns-push-type") == "background")
        #expect(client.reader.decoder.tableSize == client.tableSize)
        // An index instead of the topic, and the name of the type by its number.
        #expect(second.blockCount < first.blockCount - 40)
        #expect(fields(try client.send(RequestClient.block())) == fields(first))
    }

    @Test func `without a table nothing is indexed`() throws {
        let client = try RequestClient([(1, 0)])
        let first = try #require(try client.send(RequestClient.block()))
        let second = try #require(try client.send(RequestClient.block()))
        #expect(fields(first) == fields(second))
        #expect(first.blockCount == second.blockCount + 1, "the first begins with the size of the table")
        #expect(client.reader.decoder.tableSize == 0 && client.tableSize == 0)
    }

    @Test func `a table that the peer makes smaller and larger again is followed`() throws {
        let client = try RequestClient()
        let block = RequestClient.block()
        for size: UInt32 in [4_096, 120, 0, 65_536, 64, 4_095, 1] {
            try client.announce([(1, size)])
            for _ in 0..<3 {
                let request = try client.send(block)
                #expect(fields(request).count == 8)
                #expect(request?.value("apns-topic") == "com.example.app")
                #expect(client.reader.decoder.tableSize == client.tableSize)
                #expect(client.tableSize <= min(Int(size), 4_096))
                #expect(client.reader.decoder.largestTableSize == min(Int(size), 4_096))
            }
        }
    }

    @Test(arguments: [[1, 0], [0, 4_096], [100, 3_000], [3_000, 100], [4_096, 4_096], [0, 0, 50]] as [[UInt32]])
    func `sizes that change between two requests empty the table as far as the lowest`(sizes: [UInt32]) throws {
        for isOneFrame in [false, true] {
            let client = try RequestClient()
            _ = try client.send(RequestClient.block())
            let before = client.tableSize
            if isOneFrame {
                try client.announce(sizes.map { (1, $0) })
            } else {
                for size in sizes { try client.announce([(1, size)]) }
            }
            #expect(client.tableSize == before, "the decoder keeps its table until the next request")
            let fields = self.fields(try client.send(RequestClient.block()))
            #expect(fields.contains("apns-topic=com.example.app"))
            #expect(client.reader.decoder.tableSize == client.tableSize)
        }
    }

    @Test func `a size that changes after a request was submitted counts for it`() throws {
        let client = try RequestClient()
        _ = try client.send(RequestClient.block())
        let fields = try client.session.addFields(RequestClient.block())
        try client.submit(fields)
        try client.announce([(1, 0)])
        let requests = try client.drain()
        #expect(requests.first?.value("apns-topic") == "com.example.app")
        #expect(client.reader.decoder.tableSize == 0)
    }

    @Test func `the oldest fields make room for new ones`() throws {
        let client = try RequestClient()
        let topics = (0..<200).map { "com.example.app\($0)" }
        for topic in topics + topics.suffix(10) + topics.prefix(10) {
            let block = RequestClient.block([("apns-topic", topic), ("apns-push-type", "alert")])
            #expect(try client.send(block)?.value("apns-topic") == topic)
            #expect(client.reader.decoder.tableSize == client.tableSize)
        }
        #expect(client.tableSize > 4_000 && client.tableSize <= 4_096)
    }

    @Test func `a field that would fill most of the table stays out of it`() throws {
        let client = try RequestClient()
        let small = RequestClient.block()
        let long = String(repeating: "x", count: 3_100)
        _ = try client.send(small)
        let before = client.tableSize
        let request = try client.send(RequestClient.block([("apns-topic", long)]))
        #expect(request?.value("apns-topic") == long && request?.isNeverIndexed["apns-topic"] == false)
        #expect(client.tableSize == before && client.reader.decoder.tableSize == before)
        let fits = String(repeating: "x", count: 3_000)
        _ = try client.send(RequestClient.block([("apns-topic", fits)]))
        #expect(client.tableSize > 3_000 && client.reader.decoder.tableSize == client.tableSize)
    }

    @Test(arguments: [126, 127, 128, 254, 255, 256, 16_383, 16_384, 20_000])
    func `a value may have any length`(count: Int) throws {
        let client = try RequestClient()
        let value = String(repeating: "v", count: count)
        let path = String(repeating: "p", count: min(count, 1_024))
        for _ in 0..<2 {
            let request = try client.send(RequestClient.block([("apns-collapse-id", value)]), path: path, id: path)
            #expect(request?.value("apns-collapse-id") == value)
            #expect(request?.value(":path") == "/3/device/" + path && request?.value("apns-id") == path)
        }
    }

    @Test(arguments: [0, 1, 64, 100, 300, 1_024])
    func `tokens and ids of any length wait in their slots`(count: Int) throws {
        let client = try RequestClient()
        let fields = try client.session.addFields(RequestClient.block())
        let texts = (0..<40).map { String(repeating: "abcd\($0)", count: 200).prefix($0 % 3 == 0 ? count : $0) }
        for text in texts { try client.submit(fields, path: String(text), id: "i" + text.dropFirst()) }
        let requests = try client.drain()
        #expect(requests.map { $0.value(":path") } == texts.map { "/3/device/" + $0 })
        #expect(requests.map { $0.value("apns-id") } == texts.map { "i" + $0.dropFirst() })
    }

    @Test func `a path, an id or a method that is too long is refused, and so are fields`() throws {
        let client = try RequestClient()
        let fields = try client.session.addFields(RequestClient.block())
        let long = String(repeating: "x", count: 1_025)
        for (path, id) in [(long, "id"), ("token", long)] {
            let error = #expect(throws: HTTP2Error.self) { try client.submit(fields, path: path, id: id) }
            #expect(error?.code == .invalidField)
        }
        let huge = RequestClient.block([("apns-topic", String(repeating: "x", count: 65_536))])
        let method = HeaderBlock(method: String(repeating: "M", count: 65), authority: "api.push.apple.com", path: "/")
        for block in [huge, method] {
            let error = #expect(throws: HTTP2Error.self) { try client.session.addFields(block) }
            #expect(error?.code == .invalidField)
        }
        #expect(client.session.openStreams == 0)
    }

    // MARK: Frames

    @Test func `a block longer than a frame continues in CONTINUATION frames`() throws {
        let client = try RequestClient()
        let long = (0..<3).map { String(repeating: "\($0)", count: 15_000) }
        let block = RequestClient.block([("apns-topic", long[0]), ("a", long[1]), ("b", long[2])])
        let request = try #require(try client.send(block))
        #expect(request.frames.count == 3 && request.frames.prefix(2) == [16_384, 16_384])
        #expect(["apns-topic", "a", "b"].map { request.value($0) } == long)
        #expect(request.endsStream)
        #expect(fields(try client.send(RequestClient.block())).count == 8)
    }

    @Test func `a peer's larger frames are used, and its smaller ones again`() throws {
        let client = try RequestClient()
        let block = RequestClient.block([("apns-topic", String(repeating: "x", count: 40_000))])
        try client.announce([(5, 50_000)])
        #expect(try client.send(block)?.frames.count == 1)
        try client.announce([(5, 20_000)])
        #expect(try client.send(block)?.frames.first == 20_000)
        try client.announce([(5, 16_384)])
        #expect(try client.send(block)?.frames.first == 16_384)
    }

    @Test func `a request whose block has several frames ends with its last byte`() throws {
        let client = try ClientEnd.inFlight(0)
        var block = HeaderBlock(method: "POST", authority: "localhost", path: "/")
        block.append("apns-topic", String(repeating: "x", count: 40_000))
        let fields = try client.session.addFields(block)
        let before = client.bytesDrained
        let submission = try client.session.submit(
            fields,
            pathSuffix: RawSpan(),
            varying: RawSpan(),
            body: nil,
            tag: 1
        )
        let count = UInt64(try client.drain().count)
        #expect(count > 40_000)
        #expect(client.session.isWritten(submission, bytesWritten: before + count))
        #expect(!client.session.isWritten(submission, bytesWritten: before + count - 1))
    }

    // MARK: What is never sent

    @Test func `a request that is cancelled before it is written leaves nothing in the table`() throws {
        let client = try RequestClient()
        let (first, second) = (RequestClient.block(), RequestClient.block([("apns-topic", "org.example.other")]))
        let cancelled = try client.submit(try client.session.addFields(first))
        client.session.reset(cancelled)
        try client.submit(try client.session.addFields(second))
        #expect(try client.drain().map { $0.value("apns-topic") } == ["org.example.other"])
        #expect(client.reader.decoder.tableSize == client.tableSize)
        #expect(try client.send(first)?.value("apns-topic") == "com.example.app")
    }

    @Test(arguments: ["GET", "DELETE", "POST"])
    func `any method is sent as it is`(method: String) throws {
        let client = try RequestClient()
        for _ in 0..<2 {
            let block = HeaderBlock(method: method, authority: "localhost", path: "/")
            let request = try client.send(block, path: "", id: "")
            #expect(
                fields(request) == [":method=\(method)", ":scheme=https", ":authority=localhost", ":path=/"]
            )
        }
    }
}

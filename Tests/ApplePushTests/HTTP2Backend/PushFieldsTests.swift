import CarillonIO
import Testing

@testable import ApplePush
@testable import CarillonHTTP2

@Suite struct PushFieldsTests {
    private func names(_ indexing: HeaderBlock.Indexing, in block: HeaderBlock) -> [String] {
        block.entries.filter { $0.indexing == indexing }.map { text($0.name, in: block) }
    }

    private func text(_ range: ByteRange, in block: HeaderBlock) -> String {
        String(decoding: block.bytes[range.range], as: UTF8.self)
    }

    private func block(of type: PushType, channel: ByteRange? = nil) -> HeaderBlock {
        var batch = PushBatch()
        _ = batch.addHeading(
            payload: "{}".utf8Span.span.bytes,
            topic: "org.example.app".utf8Span.span.bytes,
            pushType: type,
            priority: 5,
            expiration: 1_900_000_000,
            collapseID: "group".utf8Span.span.bytes
        )
        let token = ProviderToken(jwt: "a.b.c", issuedAt: 1)
        let fields = PushFields(batch.fields[0], in: batch.bytes, channel: channel, token: token)
        return fields.block(authority: "api.push.apple.com")
    }

    /// As Apple advises for the first two. The others would push the rest out of the compression table.
    @Test func `the path, the provider token and what rarely repeats are never indexed, and all else is`() throws {
        let push = block(of: .voip)
        let frequent = [":method", ":scheme", ":authority", "apns-topic", "apns-push-type", "apns-priority"]
        #expect(names(.never, in: push) == [":path", "authorization", "apns-expiration", "apns-collapse-id"])
        #expect(names(.incremental, in: push) == frequent)
        #expect(text(try #require(push.varyingName), in: push) == "apns-id")
        let broadcast = block(of: .channel)
        #expect(names(.never, in: broadcast) == [":path", "authorization", "apns-channel-id", "apns-expiration"])
        #expect(names(.incremental, in: broadcast) == frequent.filter { $0 != "apns-topic" })
        #expect(text(try #require(broadcast.varyingName), in: broadcast) == "apns-request-id")
    }
}

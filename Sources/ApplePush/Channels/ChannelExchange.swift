import CarillonHTTP2
import FoundationEssentials

/// Translates a request to the channel service into HTTP/2 and reads its answer: a value without a connection.
struct ChannelExchange {
    private struct NewChannel: Encodable {
        let policy: MessageStoragePolicy
        let pushType = "LiveActivity"

        enum CodingKeys: String, CodingKey {
            case policy = "message-storage-policy"
            case pushType = "push-type"
        }
    }

    private struct Settings: Decodable {
        let policy: MessageStoragePolicy

        enum CodingKeys: String, CodingKey { case policy = "message-storage-policy" }
    }

    private struct List: Decodable { let channels: [ChannelID] }

    /// An app has at most 10,000 channels.
    private static let maxListed = 10_000

    private let request: ChannelRequest

    init(_ request: ChannelRequest) { self.request = request }

    /// The header fields. The authorization is a secret and stays out of the compression table.
    func block(authority: String, token: ProviderToken?) -> HeaderBlock {
        var block = HeaderBlock(method: method, authority: authority, path: path)
        if let token { block.append("authorization", "bearer \(token.jwt)", indexing: .never) }
        block.append("apns-request-id", request.id.description, indexing: .never)
        if let channel { block.append("apns-channel-id", channel.description, indexing: .never) }
        return block
    }

    private var method: String {
        switch request.action {
        case .create: "POST"
        case .read, .list: "GET"
        case .remove: "DELETE"
        }
    }

    private var path: String {
        let end = if case .list = request.action { "all-channels" } else { "channels" }
        return "/1/apps/\(request.app)/\(end)"
    }

    private var channel: ChannelID? {
        switch request.action {
        case .read(let channel), .remove(let channel): channel
        case .create, .list: nil
        }
    }

    var body: [UInt8]? {
        guard case .create(let policy) = request.action else { return nil }
        // Numbers and strings can always be encoded.
        return (try? JSONEncoder().encode(NewChannel(policy: policy))).map { Array($0) }
    }

    /// Reads the answer.
    func answer(
        status: UInt16,
        channelID: String,
        retryAfter: Int32?,
        body: RawSpan
    ) throws(ChannelError) -> ChannelRequest.Answer {
        switch (request.action, status) {
        case (.create, 200...299):
            let channel = ChannelID(channelID)
            guard channel.isPossible else { throw malformed(status, "names no channel") }
            return .created(channel)
        case (.remove, 200...299): return .removed
        case (.read, 200):
            guard let settings = decode(Settings.self, body) else { throw malformed(status, "has no storage policy") }
            return .found(settings.policy)
        case (.list, 200):
            guard let list = decode(List.self, body) else { throw malformed(status, "has no list of channels") }
            guard list.channels.count <= Self.maxListed else {
                throw malformed(status, "lists more than \(Self.maxListed) channels")
            }
            guard list.channels.allSatisfy(\.isPossible) else {
                throw malformed(status, "lists something that is not the ID of a channel")
            }
            return .list(list.channels)
        default:
            let reason = AnswerBody.reason(in: body).text
            throw ChannelError(
                status: Int(status),
                reason: reason.isEmpty ? nil : reason,
                retryAfter: retryAfter.map(Int.init)
            )
        }
    }

    private func decode<Value: Decodable>(_ type: Value.Type, _ body: RawSpan) -> Value? {
        try? JSONDecoder().decode(type, from: Data(body.byteOffsets.map { body[byte: $0] }))
    }

    private func malformed(_ status: UInt16, _ what: String) -> ChannelError {
        ChannelError(.malformed, "The channel service answered \(status), and the answer \(what).")
    }
}

import CarillonHTTP2
import CarillonIO
import CarillonText

/// The header fields that pushes share, built once and used until one of them changes.
struct PushFields: Equatable {
    private let topic: [UInt8]
    private let collapseID: [UInt8]
    private let expiration: Int64?
    private let priority: UInt8?
    private let pushType: PushType
    /// The id of the channel, for a push to one.
    private let channel: [UInt8]
    private let token: ProviderToken?

    init(_ fields: PushBatch.Fields, in bytes: [UInt8], channel: ByteRange?, token: ProviderToken?) {
        self.channel = channel.flatMap { Hexadecimal.bytes(of: bytes[$0.range].span) } ?? []
        topic = Array(bytes[fields.topic.range])
        collapseID = Array(bytes[fields.collapseID.range])
        expiration = fields.expiration
        priority = fields.priority
        pushType = fields.pushType
        self.token = token
    }

    /// Fields that repeat are indexed. Fields that rarely repeat would evict them from the compression table, and a provider
    /// token is a secret that does not belong there. Apple asks for the same.
    func block(authority: String) -> HeaderBlock {
        if pushType == .channel { return channelBlock(authority: authority) }
        var block = HeaderBlock(method: "POST", authority: authority, path: "/3/device/")
        if let token = self.token { block.append("authorization", "bearer \(token.jwt)", indexing: .never) }
        // Safe: the arrays stay alive and unchanged during the calls.
        if !topic.isEmpty { unsafe block.append("apns-topic", topic.span.bytes) }
        block.append("apns-push-type", pushType.name)
        if let priority = self.priority { block.append("apns-priority", String(priority)) }
        if let expiration = self.expiration { block.append("apns-expiration", String(expiration), indexing: .never) }
        if !collapseID.isEmpty { unsafe block.append("apns-collapse-id", collapseID.span.bytes, indexing: .never) }
        block.appendVarying("apns-id")
        return block
    }

    /// A channel's push has no topic, and must have an expiry.
    private func channelBlock(authority: String) -> HeaderBlock {
        let path = "/4/broadcasts/apps/\(String(decoding: topic, as: UTF8.self))"
        var block = HeaderBlock(method: "POST", authority: authority, path: path)
        if let token = self.token { block.append("authorization", "bearer \(token.jwt)", indexing: .never) }
        // Safe: the array stays alive and unchanged during the call.
        unsafe block.append("apns-channel-id", channel.span.bytes, indexing: .never)
        block.append("apns-push-type", PushType.liveActivity.name)
        if let priority = self.priority { block.append("apns-priority", String(priority)) }
        block.append("apns-expiration", String(expiration ?? 0), indexing: .never)
        block.appendVarying("apns-request-id")
        return block
    }
}

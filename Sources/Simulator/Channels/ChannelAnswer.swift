import CarillonText

/// The channel service's answer to a request that it has carried out. An object, so that a ``Judgement`` stays small.
final class ChannelAnswer: Sendable, Equatable {
    let action: ChannelAction
    let status: UInt16
    /// Sent as `apns-channel-id`.
    let channelID: [UInt8]?
    let body: [UInt8]

    private init(_ action: ChannelAction, _ status: UInt16, channelID: String? = nil, body: [UInt8] = []) {
        self.action = action
        self.status = status
        self.channelID = channelID.map { Array($0.utf8) }
        self.body = body
    }

    static func created(_ channel: ChannelTable.Channel) -> ChannelAnswer {
        ChannelAnswer(.create, 201, channelID: channel.id)
    }

    static func found(_ channel: ChannelTable.Channel) -> ChannelAnswer {
        let policy = channel.storesMessages ? 1 : 0
        let body = #"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#
        return ChannelAnswer(.read, 200, channelID: channel.id, body: Array(body.utf8))
    }

    static let removed = ChannelAnswer(.remove, 204)

    static func list(_ ids: [String]) -> ChannelAnswer {
        var body: [UInt8] = []
        body.append("{\"channels\":[")
        for (index, id) in ids.enumerated() {
            if index > 0 { body.append(",") }
            body.appendQuoted(id)
        }
        body.append("]}")
        return ChannelAnswer(.list, 200, body: body)
    }

    static func == (one: ChannelAnswer, other: ChannelAnswer) -> Bool {
        one.action == other.action && one.status == other.status && one.channelID == other.channelID
            && one.body == other.body
    }
}

import ApplePush

/// A request about a channel that a worker has taken for a minute.
struct ChannelTask: Decodable, Sendable {
    let appID: Int32
    let reference: String
    let policy: MessageStoragePolicy
    /// Apple's id, once it is known.
    private let channelID: String?
    let isRemoval: Bool
    /// The number of this request: what an earlier one brings is not recorded.
    let attempt: Int32

    var channel: ChannelID? { channelID.map { ChannelID($0) } }

    /// What Apple is asked for. Nil means nothing: a channel without an id is gone without Apple.
    var action: ChannelRequest.Action? {
        guard isRemoval else { return .create(policy) }
        return channel.map { .remove($0) }
    }
}

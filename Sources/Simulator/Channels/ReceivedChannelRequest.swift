/// A request about channels, for the log and for tests.
struct ReceivedChannelRequest: Sendable, Hashable {
    let action: ChannelAction
    /// The bundle ID in the path.
    let app: String
    /// The channel that the request names, or that it has created.
    let channel: String?

    /// Nil if there is no route, as for a push to a device token.
    init?(_ route: ChannelRoute?, _ head: RequestHead, in bytes: Span<UInt8>, _ judgement: Judgement?) {
        guard let route else { return nil }
        action = route.action
        app = bytes.extracting(route.app).text
        if case .managed(let answer) = judgement, let id = answer.channelID {
            channel = String(decoding: id, as: UTF8.self)
        } else {
            channel = head.channelID.isPresent ? bytes.extracting(head.channelID.range).text : nil
        }
    }
}

/// What a request about channels asks for. The raw value names the rules of ``AnswerRule`` for it.
enum ChannelAction: String, CaseIterable, Sendable {
    /// A push to the Live Activities of a channel.
    case broadcast
    /// Requests to the channel service.
    case create, read, remove, list
}

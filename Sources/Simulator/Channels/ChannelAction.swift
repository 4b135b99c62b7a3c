/// What a request about channels asks for. The raw value names the rules of ``AnswerRule`` for it.
enum ChannelAction: String, CaseIterable, Sendable {
    /// A push to the Live Activities of a channel.
    case broadcast
    case create, read, remove, list

    /// Whether the channel service does it. A broadcast is sent to the gateway.
    var isManagement: Bool { self != .broadcast }
}

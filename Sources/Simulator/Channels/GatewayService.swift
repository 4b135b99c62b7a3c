/// What a connection is for.
enum GatewayService: Sendable {
    /// The gateway: pushes and broadcasts.
    case pushes
    /// The management of channels.
    case channels
}

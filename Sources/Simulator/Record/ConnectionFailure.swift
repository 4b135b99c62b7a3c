/// A connection that ended because of its client: in its handshake, or because it broke the protocol.
public struct ConnectionFailure: Sendable, Hashable {
    /// When it failed, in milliseconds since 1970.
    public let time: Int64
    /// The connection, counted from 1.
    public let connection: Int
    /// Whether it failed before a request could arrive.
    public let isHandshake: Bool
    /// A sentence: what was wrong.
    public let message: String
}

extension ConnectionFailure {
    func of(_ service: String) -> Self {
        Self(time: time, connection: connection, isHandshake: isHandshake, message: "\(service): \(message)")
    }
}

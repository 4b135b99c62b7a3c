/// A notification. Its token and payload are ranges of the bytes that it was read from.
struct Notification: Equatable, Sendable {
    let command: UInt8
    /// 0 if the client sent none.
    var identifier: UInt32 = 0
    var token = 0..<0
    var payload = 0..<0
    var expiration: UInt32?
    var priority: UInt8?

    /// Apple never raised the limit of the older commands.
    var payloadLimit: Int { command == 2 ? 2048 : 256 }
}

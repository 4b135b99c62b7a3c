/// The binary gateway's state of a connection. A value, so that it can be passed between actors.
struct BinaryClient: Sendable {
    /// How a connection ends.
    enum End: Sendable {
        /// Nil if the client uses command 0, which has no errors.
        case error(BinaryError?)
        case silence
        case reset
    }

    let number: Int
    let certificate: ClientCredential.Certificate
    var reader = NotificationReader()
    /// The number of notifications judged.
    var count = 0
}

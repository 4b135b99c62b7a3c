import CarillonTLS

/// What the binary gateway knows of a connection. A value, so that it can be passed on.
struct BinaryClient: Sendable {
    /// How a connection ends.
    enum End: Sendable {
        /// Nil: the client uses command 0, which has no errors.
        case error(BinaryError?)
        case silence
        case reset
    }

    let number: Int
    let certificate: ClientCredential.Certificate
    var reader = NotificationReader()
    /// Notifications that were judged.
    var count = 0
}

/// A frame on its way through a relay, with facts for the test's decision.
package struct RelayFrame: Sendable {
    /// Up to the server, or down to the client.
    package enum Direction: Sendable { case up, down }

    package let direction: Direction
    /// The connection, counted from 1.
    package let connection: Int
    /// How many answers have come down on the connection, this one included.
    package let answers: Int
    package let frame: Frame

    /// An answer that came down.
    package var isAnswer: Bool { direction == .down && frame.isHeaders }
}

/// What the relay does with a frame. Several acts are done in order; without any the frame is dropped.
package enum RelayAct: Sendable {
    /// Forwards it unchanged.
    case pass
    /// Sends these bytes to the client.
    case say([UInt8])
    /// Forwards and reads nothing from now on.
    case freeze
    /// Closes the socket, after the output so far.
    case hangUp
    /// Sends the output so far and the TLS close_notify, and closes the socket.
    case close
}

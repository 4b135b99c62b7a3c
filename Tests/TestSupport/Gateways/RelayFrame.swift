/// A frame on its way through a relay, with what its judge may want to know.
package struct RelayFrame: Sendable {
    /// As seen by the client: up to the server, down from it.
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

/// What becomes of a frame: of several acts each is done, in order; of none the frame is gone.
package enum RelayAct: Sendable {
    /// It goes on as it is.
    case pass
    /// These bytes go down to the client.
    case say([UInt8])
    /// From now on nothing comes down any more, and nobody reads what the client sends.
    case freeze
    /// The socket is closed without a word, after what was said before.
    case hangUp
    /// TLS ends in good order.
    case close
}

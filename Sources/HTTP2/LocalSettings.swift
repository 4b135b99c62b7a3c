/// What a client session announces to its peer, and what it puts up with.
package struct LocalSettings: Sendable {
    /// How many streams we open at most, however many the peer would take.
    package var maxOpenStreams: Int = 1_000
    /// How much of all answers together may be on its way to us.
    package var connectionWindow: Int32 = 1 << 20
    /// How much of an answer's body is kept; a longer one is cut there and the stream reset.
    package var bodyLimit: Int = 4_096
    /// How many header fields an answer may have, interim ones and trailers included.
    package var fieldCountLimit: Int = 64
    /// How many bytes the header fields of an answer may have.
    package var fieldBytesLimit: Int = 8_192
    /// How many interim (1xx) answers may precede the real one.
    package var interimLimit: Int = 8
    /// The fields of an answer that are kept, at most four; ``Answer/field(_:)`` counts in this order.
    package var keptFields: [String] = ["apns-id", "apns-unique-id"]

    package init() {}
}

/// What a client session announces to its peer, and its limits.
package struct ClientSettings: Sendable {
    /// How many streams are opened at most, however many the peer allows.
    package var maxOpenStreams: Int = 1_000
    /// How much of all answers together the peer may send ahead.
    package var connectionWindow: Int32 = 1 << 20
    /// How much of an answer's body is kept; a longer one is cut there and its stream reset.
    package var bodyLimit: Int = 4_096
    /// How many header fields an answer may have, interim ones and trailers included.
    package var fieldCountLimit: Int = 64
    /// How many bytes the header fields of an answer may have.
    package var fieldBytesLimit: Int = 8_192
    /// How many interim (1xx) answers may precede the final one.
    package var interimLimit: Int = 8
    /// The fields of an answer that are kept, at most two; ``ClientSession/withField(_:of:_:)`` counts in this order.
    package var keptFields: [String] = []

    package init() {}
}

/// The settings that a client session announces to its peer, and its limits.
package struct ClientSettings: Sendable {
    /// The largest number of open streams, even if the peer allows more.
    package var maxOpenStreams: Int = 1_000
    /// How many bytes of all answers together the peer may send ahead.
    package var connectionWindow: Int32 = 1 << 20
    /// How many bytes of an answer's body are kept; a longer body is truncated, and its stream reset.
    package var bodyLimit: Int = 4_096
    /// How many header fields an answer may have, including those of interim answers and trailers.
    package var fieldCountLimit: Int = 64
    /// How many bytes the header fields of an answer may have.
    package var fieldBytesLimit: Int = 8_192
    /// How many interim (1xx) answers may precede the final one.
    package var interimLimit: Int = 8
    /// The fields of an answer to keep, at most two; ``ClientSession/withField(_:of:_:)`` takes an index into this list.
    package var keptFields: [String] = []

    package init() {}
}

/// The settings that a client session announces to its peer, and its limits.
package struct ClientSettings: Sendable {
    /// How many header fields an answer may have, including those of interim answers and trailers.
    static let fieldCountLimit: UInt16 = 64
    /// How many bytes the header fields of an answer may have.
    static let fieldBytesLimit: UInt32 = 8_192
    /// How many interim (1xx) answers may precede the final one.
    static let interimLimit: UInt8 = 8

    /// The largest number of open streams, even if the peer allows more.
    package var maxOpenStreams: Int = 1_000
    /// How many bytes of all answers together the peer may send ahead.
    package var connectionWindow: Int32 = 1 << 20
    /// How many bytes of an answer's body are kept; a longer body is truncated, and its stream reset.
    package var bodyLimit: Int = 4_096
    /// The fields of an answer to keep, at most two; ``ClientSession/withField(_:of:_:)`` takes an index into this list.
    package var keptFields: [String] = []

    package init() {}
}

/// What a server session announces to its peer, and its limits.
package struct ServerSettings: Sendable {
    /// How many streams the peer may have open; ``ServerSession/allow(maxConcurrentStreams:)`` changes it.
    package var maxConcurrentStreams: UInt32 = 1_000
    /// How much of a request's body the peer may send ahead.
    package var initialWindow: UInt32 = 65_535
    /// How much of all requests together the peer may send ahead.
    package var connectionWindow: Int32 = 16 << 20
    /// The size of the compression table that the peer may use.
    package var headerTableSize: UInt32 = 4_096
    /// How many bytes of header fields a request may have, each counted with 32 bytes more; announced, and enforced with a
    /// margin.
    package var maxHeaderListSize: UInt32 = 8_000
    /// How much of a request's body is kept.
    package var bodyLimit: Int = 5_120
    /// Makes the reader of a body that is longer than that, which is given all of it.
    package var longBodyReader: (@Sendable () -> any BodyReader)?
    /// How many header fields of a request are kept.
    package var fieldCountLimit: Int = 64

    package init() {}
}

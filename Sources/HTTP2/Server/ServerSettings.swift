/// The settings that a server session announces to its peer, and its limits.
package struct ServerSettings: Sendable {
    /// How many bytes of header fields a request may have, plus 32 for each field. It is announced to the peer, and enforced with a
    /// margin.
    static let maxHeaderListSize = 8_000
    /// How many header fields of a request are kept.
    static let fieldCountLimit = 64
    /// The window that a peer uses if the settings name none.
    static let usualWindow: UInt32 = 65_535

    /// How many streams the peer may have open; ``ServerSession/allow(maxConcurrentStreams:)`` changes it.
    package var maxConcurrentStreams: UInt32 = 1_000
    /// How many bytes of a request's body the peer may send ahead.
    package var initialWindow = Self.usualWindow
    /// How many bytes of all requests together the peer may send ahead.
    package var connectionWindow: Int32 = 16 << 20
    /// The size of the compression table that the peer may use.
    package var headerTableSize: UInt32 = 4_096
    /// How many bytes of a request's body are kept.
    package var bodyLimit: Int = 5_120
    /// Makes a reader for each body longer than `bodyLimit`; the reader gets all of the body.
    package var longBodyReader: (@Sendable () -> any BodyReader)?

    package init() {}
}

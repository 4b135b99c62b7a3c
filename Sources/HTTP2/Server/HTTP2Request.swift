package import CarillonIO

/// A request. The bytes it refers to are the session's: ``ServerSession/withRequest(_:_:)``.
package struct HTTP2Request: Sendable {
    package let stream: Int32
    /// Whether the header fields exceeded the limits; only the first ones were kept.
    package let hasTooManyFields: Bool
    /// Whether the stream ended before the request was read, so that it cannot be answered.
    package let isGone: Bool
    /// The length of the whole body, including what was not kept.
    package let bodyCount: Int
    /// The body, or its beginning, in the request's bytes.
    package let body: ByteRange
    let slot: UInt32

    /// Whether the body was longer than the limit, so that only its beginning was kept.
    package var isBodyTooLarge: Bool { bodyCount > Int(body.count) }
}

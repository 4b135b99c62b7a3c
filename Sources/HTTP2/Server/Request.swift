package import CarillonIO

/// A request. The bytes it refers to are the session's: ``ServerSession/withRequest(_:_:)``.
package struct Request: Sendable {
    package let stream: Int32
    /// The header fields exceeded the limits; the first of them are here.
    package let hasTooManyFields: Bool
    /// The stream ended before the request was read, so it cannot be answered.
    package let isGone: Bool
    /// The length of the whole body, kept or not.
    package let bodyCount: Int
    /// The body, or its beginning, in the request's bytes.
    package let body: ByteRange
    let slot: UInt32

    /// The body was longer than the limit; only its beginning was kept.
    package var isBodyTooLarge: Bool { bodyCount > Int(body.count) }
}

/// A request. The bytes it refers to are the session's: ``ServerSession/withRequest(_:_:)``.
package struct Request: Sendable {
    package let stream: Int32
    /// The header fields were more than the limits; the first of them are here.
    package let hasTooManyFields: Bool
    /// The stream was gone before the request was read: there is nobody to answer.
    package let isGone: Bool
    /// The length of the whole body, kept or not.
    package let bodyCount: Int
    /// The body, or its beginning, in the request's bytes.
    package let body: ByteRange
    let slot: UInt32

    /// The body was longer than the limit, and only its beginning is here.
    package var isBodyTooLarge: Bool { bodyCount > Int(body.count) }
}

/// A header field of a request: where its name and its value are in the request's bytes. Pseudo fields come first.
package struct Field: Sendable {
    package let name: ByteRange
    package let value: ByteRange
}

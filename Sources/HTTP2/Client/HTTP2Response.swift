import CarillonIO

/// A response. The bytes it refers to are the session's.
package struct HTTP2Response: Sendable {
    /// The ranges of the kept fields; empty for a missing field.
    typealias KeptFields = InlineArray<2, ByteRange>

    package let status: UInt16
    /// The value of `retry-after` if it was a number of seconds.
    package let retryAfter: Int32?
    /// Whether the body was longer than the limit, so that only its beginning was kept.
    package let isTruncated: Bool
    let body: ByteRange
    let fields: KeptFields

    /// Whether the answer has this kept field; `index` is its place in ``ClientSettings/keptFields``.
    package func hasField(_ index: Int) -> Bool { fields[index].count > 0 }
}

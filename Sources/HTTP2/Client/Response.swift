import CarillonIO

/// A response. The bytes it refers to are the session's.
package struct Response: Sendable {
    /// Where the kept fields are; empty for one that did not come.
    typealias KeptFields = InlineArray<2, ByteRange>

    package let status: UInt16
    /// Seconds to wait, where the peer sent them as a number.
    package let retryAfter: Int32?
    /// The body was longer than the limit; only its beginning was kept.
    package let isTruncated: Bool
    let body: ByteRange
    let fields: KeptFields

    /// Whether that kept field came; `index` counts in ``ClientSettings/keptFields``.
    package func hasField(_ index: Int) -> Bool { fields[index].count > 0 }

    /// The length of the body, as far as it was kept.
    package var bodyCount: Int { Int(body.count) }
}

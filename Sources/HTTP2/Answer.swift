/// A response. The bytes it refers to are the session's.
package struct Answer: Sendable {
    package let status: UInt16
    /// Seconds to wait, where the peer said so as a number.
    package let retryAfter: Int32?
    /// The body was longer than the limit and only its beginning is here.
    package let isTruncated: Bool
    let body: ByteRange
    let fields: KeptFields

    /// The length of the body, so far as it was kept.
    package var bodyCount: Int { Int(body.count) }
}

/// Where the fields that the settings wanted kept are; an empty range for one that did not come.
struct KeptFields: Sendable {
    var first = ByteRange.empty
    var second = ByteRange.empty
    var third = ByteRange.empty
    var fourth = ByteRange.empty

    static let capacity = 4

    subscript(index: Int) -> ByteRange {
        get {
            switch index {
            case 0: first
            case 1: second
            case 2: third
            default: fourth
            }
        }
        set {
            switch index {
            case 0: first = newValue
            case 1: second = newValue
            case 2: third = newValue
            default: fourth = newValue
            }
        }
    }
}

/// The header fields of a request or of a response, as flat bytes.
///
/// A request block is shared by many submissions. Two things may differ between them: what follows the path's prefix, and
/// the value of one field (`apns-id`) that was added by ``appendVarying(_:)``.
///
/// ```swift
/// var block = HeaderBlock(method: "POST", scheme: "https", authority: "api.push.apple.com", path: "/3/device/")
/// block.append("apns-topic", "com.example.app")
/// block.append("apns-expiration", "0", indexing: .never)
/// block.appendVarying("apns-id")
/// let fields = try session.addFields(block)
/// ```
package struct HeaderBlock: Sendable {
    /// Whether a field may enter the compression table, where it would push out others.
    package enum Indexing: UInt8, Sendable {
        /// For values that repeat: topic, push type, authority.
        case incremental
        /// For values that do not, and for secrets.
        case never
    }

    struct Entry: Sendable {
        var name: ByteRange
        var value: ByteRange
        var indexing: Indexing
    }

    /// Names and values, one after the other.
    private(set) var bytes: [UInt8] = []
    private(set) var entries: [Entry] = []
    /// The place of `:path` in `entries`; its value is only the prefix.
    private(set) var pathIndex: Int?
    private(set) var varyingName: ByteRange?
    /// The first field that may not be sent; reported when the block is used.
    private(set) var invalidField: String?

    /// The fields of a request; `path` is the prefix that all submissions share.
    package init(method: String, scheme: String = "https", authority: String, path: String) {
        push(":method", method.utf8)
        push(":scheme", scheme.utf8)
        push(":authority", authority.utf8)
        pathIndex = entries.count
        push(":path", path.utf8, .never)
    }

    /// The fields of a response.
    package init(status: UInt16) {
        push(":status", String(status).utf8)
    }

    /// Makes this the block of another response in the same memory.
    package mutating func reset(status: UInt16) {
        bytes.removeAll(keepingCapacity: true)
        entries.removeAll(keepingCapacity: true)
        (pathIndex, varyingName, invalidField) = (nil, nil, nil)
        push(":status", [UInt8(48 + status / 100 % 10), UInt8(48 + status / 10 % 10), UInt8(48 + status % 10)])
    }

    /// The name is in lower case.
    package mutating func append(_ name: StaticString, _ value: String, indexing: Indexing = .incremental) {
        append(name, value.utf8.span.bytes, indexing: indexing)
    }

    package mutating func append(_ name: StaticString, _ value: RawSpan, indexing: Indexing = .incremental) {
        let nameRange = appendName(name)
        let start = bytes.count
        value.withUnsafeBytes { bytes.append(contentsOf: $0) }
        let range = ByteRange(start: start, count: value.byteCount)
        if !FieldRules.isValue(bytes[range.bounds]) { refuse(name) }
        entries.append(Entry(name: nameRange, value: range, indexing: indexing))
    }

    /// Adds a field whose value comes with each submission. There can be one.
    package mutating func appendVarying(_ name: StaticString) {
        precondition(varyingName == nil, "a header block has one varying field")
        varyingName = appendName(name)
    }

    private mutating func push(_ name: String, _ value: some Collection<UInt8>, _ indexing: Indexing = .incremental) {
        let nameRange = ByteRange(start: bytes.count, count: name.utf8.count)
        bytes.append(contentsOf: name.utf8)
        let valueRange = ByteRange(start: bytes.count, count: value.count)
        bytes.append(contentsOf: value)
        if !FieldRules.isValue(bytes[valueRange.bounds]) { invalidField = invalidField ?? name }
        entries.append(Entry(name: nameRange, value: valueRange, indexing: indexing))
    }

    private mutating func appendName(_ name: StaticString) -> ByteRange {
        let start = bytes.count
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        let range = ByteRange(start: start, count: name.utf8CodeUnitCount)
        if !FieldRules.isName(bytes[range.bounds]) { refuse(name) }
        return range
    }

    private mutating func refuse(_ name: StaticString) {
        invalidField = invalidField ?? name.description
    }
}

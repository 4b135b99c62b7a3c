import CarillonCNGHTTP2
import CarillonIO

/// The header fields of a request or of a response, as flat bytes.
///
/// Many submissions share a request's block. They may differ in two things: the suffix of the path, and the value of one field
/// (`apns-id`) that was added by ``appendVarying(_:)``.
///
/// ```swift
/// var block = HeaderBlock(method: "POST", authority: "api.push.apple.com", path: "/3/device/")
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
        /// For values that do not repeat, and for secrets.
        case never
    }

    struct Entry: Sendable {
        var name: ByteRange
        var value: ByteRange
        var indexing: Indexing

        /// The field in the form that nghttp2 reads, pointing into the block's bytes.
        func field(in bytes: UnsafeMutablePointer<UInt8>) -> nghttp2_nv {
            nghttp2_nv(
                name: bytes + Int(name.start),
                value: bytes + Int(value.start),
                namelen: Int(name.count),
                valuelen: Int(value.count),
                flags: UInt8((indexing == .never ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE).rawValue)
            )
        }
    }

    /// Names and values, one after the other.
    private(set) var bytes: [UInt8] = []
    private(set) var entries: [Entry] = []
    /// The place of `:path` in `entries`; its value is only the prefix.
    private(set) var pathIndex: Int?
    private(set) var varyingName: ByteRange?
    /// The first field that cannot be sent, which is reported when the block is used.
    private var invalidField: String?

    func check() throws(HTTP2Error) {
        guard let invalidField else { return }
        throw HTTP2Error(.invalidField, "the value of the header field \(invalidField) cannot be sent")
    }

    /// The fields of a request; `path` is the prefix that all submissions share.
    package init(method: String, authority: String, path: String) {
        let scheme = "https"
        push(":method", method.utf8.span.bytes)
        push(":scheme", scheme.utf8.span.bytes)
        push(":authority", authority.utf8.span.bytes)
        pathIndex = entries.count
        push(":path", path.utf8.span.bytes, .never)
    }

    package init(status: UInt16) { reset(status: status) }

    /// Reuses the memory of this block for another response.
    package mutating func reset(status: UInt16) {
        bytes.removeAll(keepingCapacity: true)
        entries.removeAll(keepingCapacity: true)
        (pathIndex, varyingName, invalidField) = (nil, nil, nil)
        let digits = [UInt8(48 + status / 100 % 10), UInt8(48 + status / 10 % 10), UInt8(48 + status % 10)]
        push(":status", digits.span.bytes)
    }

    /// Adds a field. The name must be in lower case.
    package mutating func append(_ name: StaticString, _ value: String, indexing: Indexing = .incremental) {
        append(name, value.utf8.span.bytes, indexing: indexing)
    }

    package mutating func append(_ name: StaticString, _ value: RawSpan, indexing: Indexing = .incremental) {
        check(name)
        push(name, value, indexing)
    }

    /// Adds a field whose value is given with each submission. There can be only one.
    package mutating func appendVarying(_ name: StaticString) {
        precondition(varyingName == nil, "a header block has one varying field")
        check(name)
        varyingName = push(name)
    }

    /// Adds a pseudo-header field, or a field whose name has been checked.
    private mutating func push(_ name: StaticString, _ value: RawSpan, _ indexing: Indexing = .incremental) {
        let name = (text: name, range: push(name))
        let range = ByteRange(start: bytes.count, count: value.byteCount)
        value.withUnsafeBytes { bytes.append(contentsOf: $0) }
        if !FieldRules.isValue(bytes[range.range]) { refuse(name.text) }
        entries.append(Entry(name: name.range, value: range, indexing: indexing))
    }

    private mutating func push(_ name: StaticString) -> ByteRange {
        defer { name.withUTF8Buffer { bytes.append(contentsOf: $0) } }
        return ByteRange(start: bytes.count, count: name.utf8CodeUnitCount)
    }

    private mutating func check(_ name: StaticString) {
        if !name.withUTF8Buffer({ FieldRules.isName($0) }) { refuse(name) }
    }

    private mutating func refuse(_ name: StaticString) {
        invalidField = invalidField ?? name.description
    }
}

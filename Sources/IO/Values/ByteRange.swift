/// A range of bytes, half the size of a `Range<Int>`, because thousands are kept.
@usableFromInline
package struct ByteRange: Hashable, Sendable {
    @usableFromInline package var start: UInt32
    @usableFromInline package var count: UInt32

    package static let empty = ByteRange(start: 0, count: 0)

    @inlinable
    package init(start: UInt32, count: UInt32) {
        self.start = start
        self.count = count
    }

    @inlinable
    package init(start: Int, count: Int) {
        self.start = UInt32(start)
        self.count = UInt32(count)
    }

    @inlinable
    package var end: Int { Int(start) + Int(count) }

    /// For `RawSpan.extracting`.
    @inlinable
    package var range: Range<Int> { Int(start)..<end }
}

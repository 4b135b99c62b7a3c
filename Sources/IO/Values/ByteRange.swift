/// A range of bytes, half the size of a `Range<Int>`, because thousands are kept.
package struct ByteRange: Hashable, Sendable {
    package var start: UInt32
    package var count: UInt32

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
    package var isEmpty: Bool { count == 0 }
    @inlinable
    package var end: Int { Int(start) + Int(count) }

    /// For `RawSpan.extracting`.
    @inlinable
    package var range: Range<Int> { Int(start)..<end }
}

/// Looks at eight bytes at once. Inlined, because senders and the simulator test every digit of every device token.
@usableFromInline
package enum WordOfBytes {
    /// The highest bit of each byte.
    @inlinable
    package static var highBits: UInt64 { 0x8080_8080_8080_8080 }

    @inlinable
    @inline(__always)
    package static func repeating(_ byte: UInt8) -> UInt64 { 0x0101_0101_0101_0101 &* UInt64(byte) }

    /// The highest bit of each byte says whether its other seven are in this range of ASCII. The other bits mean nothing.
    @inlinable
    @inline(__always)
    package static func within(_ range: ClosedRange<UInt8>, _ word: UInt64) -> UInt64 {
        // With seven bits, no sum reaches the next byte.
        let ascii = word & ~highBits
        let isAtLeast = ascii &+ repeating(0x80 - range.lowerBound)
        let isAbove = ascii &+ repeating(0x7f - range.upperBound)
        return isAtLeast & ~isAbove
    }
}

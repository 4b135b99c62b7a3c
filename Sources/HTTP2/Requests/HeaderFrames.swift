/// Puts a header block into a HEADERS frame and, if it is longer than the peer's frames may be, CONTINUATION frames (RFC 9113,
/// section 6.10).
enum HeaderFrames {
    static let headerSize = 9
    /// What every peer accepts.
    static let smallestLimit = 16_384

    private static let headers: UInt8 = 0x1
    private static let continuation: UInt8 = 0x9
    private static let endStream: UInt8 = 0x1
    private static let endHeaders: UInt8 = 0x4

    /// Appends the block that begins after `headerSize` bytes of `memory`. The header of each frame is written where the bytes
    /// before it no longer matter.
    ///
    /// - Parameter frame: The frame that is replaced: it tells the stream, and whether it ends the stream.
    static func append(
        blockIn memory: UnsafeMutableRawBufferPointer,
        replacing frame: UnsafeBufferPointer<UInt8>,
        limit: Int,
        to output: inout [UInt8]
    ) {
        precondition(memory.count >= headerSize && frame.count >= headerSize && limit >= smallestLimit)
        var start = 0
        repeat {
            let count = min(memory.count - headerSize - start, limit)
            let isFirst = start == 0
            let isLast = start + count == memory.count - headerSize
            memory[start] = UInt8(truncatingIfNeeded: count >> 16)
            memory[start + 1] = UInt8(truncatingIfNeeded: count >> 8)
            memory[start + 2] = UInt8(truncatingIfNeeded: count)
            memory[start + 3] = isFirst ? headers : continuation
            memory[start + 4] = (isFirst ? frame[4] & endStream : 0) | (isLast ? endHeaders : 0)
            for index in 5..<headerSize { memory[start + index] = frame[index] }
            output.append(contentsOf: UnsafeRawBufferPointer(rebasing: memory[start..<start + headerSize + count]))
            start += count
        } while start < memory.count - headerSize
    }
}

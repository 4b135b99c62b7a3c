/// Walks from frame to frame through a stream of bytes that arrives in pieces. Needed because nghttp2 does not report the frames
/// that it ignores.
struct FrameWalk {
    /// The nine bytes that begin a frame, without its length.
    struct Header {
        static let data: UInt8 = 0
        static let headers: UInt8 = 1
        static let reset: UInt8 = 3
        static let windowUpdate: UInt8 = 8
        static let continuation: UInt8 = 9

        let type: UInt8
        let flags: UInt8
        let stream: UInt32

        /// For DATA and HEADERS: nothing but CONTINUATION follows on the stream.
        var endsStream: Bool { flags & 1 != 0 }

        /// For HEADERS and CONTINUATION: this frame completes the header block.
        var endsHeaders: Bool { flags & 4 != 0 }
    }

    /// The number of bytes to skip: the rest of the current frame, or what precedes the first frame.
    private var left: Int
    /// How many bytes of a header have arrived; its first five bytes; its last four.
    private var seen = 0
    private var front: UInt64 = 0
    private var stream: UInt32 = 0
    /// How many frames have begun; a header block with its continuations counts as one.
    private var begun = 0
    private var isInBlock = false

    /// - Parameter count: How many bytes precede the first frame.
    init(skipping count: Int = 0) { left = count }

    /// A unique number for the incomplete frame or header block; nil if none is incomplete. It is 0 before the first frame.
    var unfinished: Int? {
        if begun == 0 { return 0 }
        if isInBlock || left > 0 { return 2 * begun }
        return seen > 0 ? 2 * begun + 1 : nil
    }

    /// The next header; `position` moves behind it. Nil if the bytes end before it.
    mutating func next(in bytes: UnsafeRawBufferPointer, from position: inout Int) -> Header? {
        while position < bytes.count {
            if left > 0 {
                let step = min(left, bytes.count - position)
                left -= step
                position += step
            } else if seen == 0, bytes.count - position >= 9 {
                let start = bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self).bigEndian
                let stream = bytes.loadUnaligned(fromByteOffset: position + 5, as: UInt32.self).bigEndian
                position += 9
                return header(front: start >> 24, stream: stream)
            } else {
                let byte = bytes[position]
                if seen < 5 {
                    self.front = self.front << 8 | UInt64(byte)
                } else {
                    self.stream = self.stream << 8 | UInt32(byte)
                }
                seen += 1
                position += 1
                if seen == 9 {
                    let (front, stream) = (self.front, self.stream)
                    (seen, self.front, self.stream) = (0, 0, 0)
                    return header(front: front, stream: stream)
                }
            }
        }
        return nil
    }

    private mutating func header(front: UInt64, stream: UInt32) -> Header {
        left = Int(front >> 16)
        let header = Header(
            type: UInt8(truncatingIfNeeded: front >> 8),
            flags: UInt8(truncatingIfNeeded: front),
            stream: stream & 0x7FFF_FFFF
        )
        if !isInBlock { begun += 1 }
        if header.type == Header.headers || header.type == Header.continuation { isInBlock = !header.endsHeaders }
        return header
    }
}

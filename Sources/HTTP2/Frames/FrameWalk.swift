/// Walks from frame to frame through a stream of bytes, wherever it is cut: nghttp2 reports no frame that it ignores.
struct FrameWalk {
    /// The nine bytes that begin a frame, but for its length.
    struct Header {
        static let data: UInt8 = 0
        static let headers: UInt8 = 1
        static let reset: UInt8 = 3
        static let windowUpdate: UInt8 = 8
        static let continuation: UInt8 = 9

        let type: UInt8
        let flags: UInt8
        let stream: UInt32

        /// Of DATA and HEADERS: nothing more follows on the stream but CONTINUATION.
        var endsStream: Bool { flags & 1 != 0 }

        /// Of HEADERS and CONTINUATION: the header block is complete with this frame.
        var endsHeaders: Bool { flags & 4 != 0 }
    }

    /// What is left to skip: the rest of the frame at hand, or what comes before the first one.
    private var left: Int
    /// How many bytes of a header have come; its first five bytes, its last four.
    private var seen = 0
    private var front: UInt64 = 0
    private var stream: UInt32 = 0
    /// How many frames have begun; a header block with its continuations counts as one.
    private var begun = 0
    private var isInBlock = false

    /// - Parameter count: How many bytes come before the first frame.
    init(skipping count: Int = 0) { left = count }

    /// A unique number for the frame, or the header block, that has begun and is not complete; nil between two. Before the
    /// first frame it is 0.
    var unfinished: Int? {
        if begun == 0 { return 0 }
        if isInBlock || left > 0 { return 2 * begun }
        return seen > 0 ? 2 * begun + 1 : nil
    }

    /// The next header, and the position after it; nil where the bytes end before.
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

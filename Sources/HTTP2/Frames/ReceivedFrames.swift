/// The stream of bytes from a server, before nghttp2 reads it. Counts the frames, even those that nghttp2 ignores, because a peer
/// can flood with them; and takes the fields out of plain answers, because nearly all answers are plain.
struct ReceivedFrames: ~Copyable {
    private(set) var count: UInt64 = 0
    private(set) var windowUpdates: UInt64 = 0
    private var walk = FrameWalk()
    private let shortensAnswers: Bool
    /// The bytes with shortened answers.
    private var shortened = UnsafeMutableRawBufferPointer(start: nil, count: 0)

    init(shortensAnswers: Bool) { self.shortensAnswers = shortensAnswers }

    deinit { shortened.deallocate() }

    /// Returns the bytes for nghttp2, which are valid until the next call. They have the same frames, but the header block of each
    /// plain answer that is in `bytes` in full has no field except `:status`.
    mutating func read(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var (position, copied, written) = (0, 0, 0)
        while let header = walk.next(in: bytes, from: &position) {
            count += 1
            if header.type == FrameWalk.Header.windowUpdate { windowUpdates += 1 }
            guard shortensAnswers, header.type == FrameWalk.Header.headers, header.flags == PlainAnswer.flags,
                header.length <= bytes.count - position, position - copied >= FrameWalk.Header.size,
                PlainAnswer.isPlain(UnsafeRawBufferPointer(rebasing: bytes[position..<position + header.length]))
            else { continue }
            // Room for all bytes: what is written never exceeds what was read.
            if copied == 0 { reserve(bytes.count) }
            append(bytes[copied..<position], at: &written)
            let start = written - FrameWalk.Header.size
            (shortened[start], shortened[start + 1], shortened[start + 2]) = (0, 0, 1)
            shortened[written] = PlainAnswer.block
            written += 1
            copied = position + header.length
        }
        if copied == 0 { return bytes }
        append(bytes[copied...], at: &written)
        return UnsafeRawBufferPointer(rebasing: shortened[..<written])
    }

    private func append(_ bytes: Slice<UnsafeRawBufferPointer>, at written: inout Int) {
        UnsafeMutableRawBufferPointer(rebasing: shortened[written..<written + bytes.count])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes))
        written += bytes.count
    }

    private mutating func reserve(_ count: Int) {
        guard shortened.count < count else { return }
        shortened.deallocate()
        shortened = .allocate(byteCount: count, alignment: 16)
    }
}

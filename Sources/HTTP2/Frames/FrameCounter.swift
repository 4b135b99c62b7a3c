/// Counts the frames in a stream of bytes, even those that nghttp2 ignores: a peer can flood with them.
struct FrameCounter {
    private(set) var count: UInt64 = 0
    private(set) var windowUpdates: UInt64 = 0
    private var walk = FrameWalk()

    mutating func observe(_ bytes: UnsafeRawBufferPointer) {
        var position = 0
        while let header = walk.next(in: bytes, from: &position) {
            count += 1
            if header.type == FrameWalk.Header.windowUpdate { windowUpdates += 1 }
        }
    }
}

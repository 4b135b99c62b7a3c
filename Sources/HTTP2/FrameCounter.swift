/// Counts the frames in a stream of bytes, ignored ones too: a peer can flood with those.
struct FrameCounter {
    private(set) var count: UInt64 = 0
    /// How many of them open windows.
    private(set) var windowUpdates: UInt64 = 0
    private var walk = FrameWalk()

    mutating func observe(_ bytes: UnsafeRawBufferPointer) {
        var position = 0
        while let header = walk.next(in: bytes, from: &position) {
            count += 1
            if header.type == FrameHeader.windowUpdate { windowUpdates += 1 }
        }
    }
}

/// Counts the frames in a stream of bytes, wherever it is cut. The protocol engine reports no frame that it ignores,
/// and a peer can flood with those.
struct FrameCounter {
    private(set) var count: UInt64 = 0
    /// What is left of the frame at hand, its header excluded.
    private var payloadLeft = 0
    /// How much of a frame's header was seen, and its length so far.
    private var headerSeen = 0
    private var length = 0

    mutating func observe(_ bytes: UnsafeRawBufferPointer) {
        var position = 0
        while position < bytes.count {
            if self.payloadLeft > 0 {
                let step = min(self.payloadLeft, bytes.count - position)
                self.payloadLeft -= step
                position += step
            } else if self.headerSeen == 0, bytes.count - position >= 9 {
                self.payloadLeft = Int(bytes[position]) << 16 | Int(bytes[position + 1]) << 8 | Int(bytes[position + 2])
                self.count += 1
                position += 9
            } else {
                if self.headerSeen < 3 { self.length = self.length << 8 | Int(bytes[position]) }
                self.headerSeen += 1
                position += 1
                if self.headerSeen == 9 {
                    self.count += 1
                    self.payloadLeft = self.length
                    (self.headerSeen, self.length) = (0, 0)
                }
            }
        }
    }
}

/// Counts the frames in a stream of bytes, wherever it is cut. The protocol engine reports no frame that it ignores,
/// and a peer can flood with those.
struct FrameCounter {
    private static let windowUpdate: UInt8 = 8

    private(set) var count: UInt64 = 0
    /// How many of them open windows.
    private(set) var windowUpdates: UInt64 = 0
    /// What is left of the frame at hand, its header excluded.
    private var payloadLeft = 0
    /// How much of a frame's header was seen, its length so far, and its type.
    private var headerSeen = 0
    private var length = 0
    private var type: UInt8 = 0

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
                if bytes[position + 3] == Self.windowUpdate { self.windowUpdates += 1 }
                position += 9
            } else {
                if self.headerSeen < 3 { self.length = self.length << 8 | Int(bytes[position]) }
                if self.headerSeen == 3 { self.type = bytes[position] }
                self.headerSeen += 1
                position += 1
                if self.headerSeen == 9 {
                    self.count += 1
                    if self.type == Self.windowUpdate { self.windowUpdates += 1 }
                    self.payloadLeft = self.length
                    (self.headerSeen, self.length) = (0, 0)
                }
            }
        }
    }
}

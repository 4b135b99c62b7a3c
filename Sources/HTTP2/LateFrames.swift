/// Finds the frames that a client sends on a stream after it has ended the stream itself (RFC 9113, section 5.1). The
/// protocol engine ignores them once the stream is closed.
///
/// It goes by what the client said and nothing else: what is still on its way on a stream that the server reset is no
/// fault. The streams opened last are remembered; of older ones nothing is known, and so nothing is wrong.
struct LateFrames {
    /// What such a frame comes to.
    enum Fault: Equatable {
        /// The client had reset the stream: an error of the stream.
        case afterReset(stream: Int32)
        /// The client had said that nothing more would come: an error of the connection.
        case afterEnd(stream: Int32)
    }

    private static let memory = 1_024
    private static let prefaceCount = 24

    private var walk = FrameWalk(skipping: Self.prefaceCount)
    /// By the stream's number: the stream that ended last, times two, and one more if it was reset.
    private var ended = [UInt32](repeating: 0, count: Self.memory)
    private var faults: [Fault] = []

    mutating func observe(_ bytes: UnsafeRawBufferPointer) {
        var position = 0
        while let header = self.walk.next(in: bytes, from: &position) { self.observe(header) }
    }

    /// What was found since this was asked last.
    mutating func take() -> [Fault] {
        if self.faults.isEmpty { return [] }
        defer { self.faults = [] }
        return self.faults
    }

    private mutating func observe(_ header: FrameHeader) {
        guard header.type <= FrameHeader.reset, header.stream & 1 == 1 else { return }
        let place = Int(header.stream >> 1) % Self.memory
        let stream = UInt32(header.stream)
        switch header.type {
        case FrameHeader.data, FrameHeader.headers:
            if self.ended[place] >> 1 == stream {
                let wasReset = self.ended[place] & 1 == 1
                self.faults.append(wasReset ? .afterReset(stream: header.stream) : .afterEnd(stream: header.stream))
            } else if header.endsStream {
                self.ended[place] = stream << 1
            }
        case FrameHeader.reset: self.ended[place] = stream << 1 | 1
        default: break
        }
    }
}

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

    /// A power of two.
    private static let memory = 1_024
    private static let prefaceCount = 24

    private var walk = FrameWalk(skipping: Self.prefaceCount)
    /// By the stream's number: the stream that ended last, times two, and one more if it was reset.
    private var ended = [UInt32](repeating: 0, count: Self.memory)
    private var faults: [Fault] = []

    mutating func observe(_ bytes: UnsafeRawBufferPointer) {
        var walk = self.walk
        var found: [Fault] = []
        self.ended.withUnsafeMutableBufferPointer { ended in
            var position = 0
            while let header = walk.next(in: bytes, from: &position) {
                guard header.type <= FrameHeader.reset, header.stream & 1 == 1 else { continue }
                if let fault = Self.observe(header, &ended[Self.place(of: header.stream)]) { found.append(fault) }
            }
        }
        self.walk = walk
        if !found.isEmpty { self.faults += found }
    }

    /// What was found since this was asked last.
    mutating func take() -> [Fault] {
        if self.faults.isEmpty { return [] }
        defer { self.faults = [] }
        return self.faults
    }

    private static func place(of stream: UInt32) -> Int { Int(stream >> 1 & UInt32(Self.memory - 1)) }

    private static func observe(_ header: FrameHeader, _ ended: inout UInt32) -> Fault? {
        switch header.type {
        case FrameHeader.data, FrameHeader.headers:
            if ended >> 1 == header.stream {
                let stream = Int32(bitPattern: header.stream)
                return ended & 1 == 1 ? .afterReset(stream: stream) : .afterEnd(stream: stream)
            }
            if header.endsStream { ended = header.stream << 1 }
        case FrameHeader.reset: ended = header.stream << 1 | 1
        default: break
        }
        return nil
    }
}

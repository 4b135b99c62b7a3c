/// Finds the frames that a client sends on a stream after it has ended the stream itself (RFC 9113, section 5.1), and new
/// streams whose numbers are too low (section 5.1.1). The protocol engine ignores both.
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
        /// The client had opened a stream of a higher number before: an error of the connection.
        case tooLow(stream: Int32)
    }

    /// What the client said of a stream last: its state and, above that, half its number.
    private struct Stream {
        static let open: UInt32 = 1
        static let ended: UInt32 = 2
        static let reset: UInt32 = 3

        private var bits: UInt32 = 0

        var state: UInt32 { bits & 3 }
        /// Half the number, or nothing.
        var half: UInt32? { bits == 0 ? nil : bits >> 2 }

        mutating func set(_ half: UInt32, _ state: UInt32) { bits = half << 2 | state }
    }

    /// A power of two.
    private static let memory = 1_024
    private static let prefaceCount = 24

    private var walk = FrameWalk(skipping: Self.prefaceCount)
    /// By the stream's number, the streams opened last.
    private var streams = [Stream](repeating: Stream(), count: Self.memory)
    private var highest: UInt32 = 0
    private var faults: [Fault] = []
    /// How many streams the client has reset.
    private(set) var resets = 0

    /// See ``FrameWalk/unfinished``.
    var unfinished: Int? { walk.unfinished }

    mutating func observe(_ bytes: UnsafeRawBufferPointer) {
        var walk = self.walk
        var found: [Fault] = []
        var highest = self.highest
        var resets = self.resets
        self.streams.withUnsafeMutableBufferPointer { streams in
            var position = 0
            while let header = walk.next(in: bytes, from: &position) {
                guard header.type <= FrameHeader.reset, header.stream & 1 == 1 else { continue }
                if header.type == FrameHeader.reset { resets += 1 }
                let fault = Self.observe(header, &streams[Self.place(of: header.stream)], &highest)
                if let fault { found.append(fault) }
            }
        }
        (self.walk, self.highest, self.resets) = (walk, highest, resets)
        if !found.isEmpty { faults += found }
    }

    /// What was found since this was asked last.
    mutating func take() -> [Fault] {
        if faults.isEmpty { return [] }
        defer { faults = [] }
        return faults
    }

    private static func place(of stream: UInt32) -> Int { Int(stream >> 1 & UInt32(Self.memory - 1)) }

    private static func observe(_ header: FrameHeader, _ last: inout Stream, _ highest: inout UInt32) -> Fault? {
        let half = header.stream >> 1
        // A stream of long ago, whose place another has by now.
        if let newer = last.half, newer > half { return nil }
        let stream = Int32(bitPattern: header.stream)
        let isKnown = last.half == half
        switch header.type {
        case FrameHeader.data, FrameHeader.headers:
            if isKnown, last.state == Stream.reset { return .afterReset(stream: stream) }
            if isKnown, last.state == Stream.ended { return .afterEnd(stream: stream) }
            if header.type == FrameHeader.headers {
                if !isKnown, header.stream < highest { return .tooLow(stream: stream) }
                highest = max(highest, header.stream)
            }
            if header.endsStream {
                last.set(half, Stream.ended)
            } else if !isKnown, header.type == FrameHeader.headers {
                last.set(half, Stream.open)
            }
        case FrameHeader.reset: last.set(half, Stream.reset)
        default: break
        }
        return nil
    }
}

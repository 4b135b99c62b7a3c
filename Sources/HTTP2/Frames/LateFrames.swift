/// Finds frames that a client sends on a stream that it has itself ended (RFC 9113, section 5.1), and new streams whose numbers are
/// too low (section 5.1.1). nghttp2 ignores both.
///
/// Only the client's own frames count: frames in transit on a stream that the server has reset are not faults. Only the most
/// recently opened streams are remembered; faults on older ones are not reported.
struct LateFrames {
    enum Fault: Equatable {
        /// The client had reset the stream: a stream error.
        case afterReset(stream: Int32)
        /// The client had ended the stream: a connection error.
        case afterEnd(stream: Int32)
        /// The client had already opened a stream with a higher number: a connection error.
        case tooLow(stream: Int32)
    }

    /// The last state of a stream as the client's frames define it, and, in the higher bits, half its number.
    private struct Stream {
        static let open: UInt32 = 1
        static let ended: UInt32 = 2
        static let reset: UInt32 = 3

        private var bits: UInt32 = 0

        var state: UInt32 { bits & 3 }
        var half: UInt32? { bits == 0 ? nil : bits >> 2 }

        mutating func set(_ half: UInt32, _ state: UInt32) { bits = half << 2 | state }
    }

    /// A power of two.
    private static let memory = 1_024
    private static let prefaceCount = 24

    private var walk = FrameWalk(skipping: Self.prefaceCount)
    /// The most recently opened streams, indexed by half their number, modulo `memory`.
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
                guard header.type <= FrameWalk.Header.reset, header.stream & 1 == 1 else { continue }
                if header.type == FrameWalk.Header.reset { resets += 1 }
                let fault = Self.observe(header, &streams[Self.index(of: header.stream)], &highest)
                if let fault { found.append(fault) }
            }
        }
        (self.walk, self.highest, self.resets) = (walk, highest, resets)
        if !found.isEmpty { faults += found }
    }

    /// The faults found since the last call.
    mutating func take() -> [Fault] {
        if faults.isEmpty { return [] }
        defer { faults = [] }
        return faults
    }

    private static func index(of stream: UInt32) -> Int { Int(stream >> 1 & UInt32(Self.memory - 1)) }

    private static func observe(_ header: FrameWalk.Header, _ last: inout Stream, _ highest: inout UInt32) -> Fault? {
        let half = header.stream >> 1
        // An old stream whose place a newer one has taken.
        if let newer = last.half, newer > half { return nil }
        let stream = Int32(bitPattern: header.stream)
        let isKnown = last.half == half
        switch header.type {
        case FrameWalk.Header.data, FrameWalk.Header.headers:
            if isKnown, last.state == Stream.reset { return .afterReset(stream: stream) }
            if isKnown, last.state == Stream.ended { return .afterEnd(stream: stream) }
            if header.type == FrameWalk.Header.headers {
                if !isKnown, header.stream < highest { return .tooLow(stream: stream) }
                highest = max(highest, header.stream)
            }
            if header.endsStream {
                last.set(half, Stream.ended)
            } else if !isKnown, header.type == FrameWalk.Header.headers {
                last.set(half, Stream.open)
            }
        case FrameWalk.Header.reset: last.set(half, Stream.reset)
        default: break
        }
        return nil
    }
}

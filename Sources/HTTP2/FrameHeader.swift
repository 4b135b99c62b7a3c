/// The nine bytes that begin a frame, but for its length.
struct FrameHeader {
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

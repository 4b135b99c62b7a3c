/// An HTTP/2 frame.
package struct Frame: Sendable {
    package let type: UInt8
    package let flags: UInt8
    package let stream: UInt32
    package let payload: [UInt8]

    /// The first frame of the bytes, and its length in them; nil if it is incomplete.
    package static func first(in bytes: ArraySlice<UInt8>) -> (frame: Frame, count: Int)? {
        let start = bytes.startIndex
        guard bytes.count >= 9 else { return nil }
        let count = Int(bytes[start]) << 16 | Int(bytes[start + 1]) << 8 | Int(bytes[start + 2])
        guard bytes.count >= 9 + count else { return nil }
        let stream = bytes[start + 5..<start + 9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7fff_ffff
        let frame = Frame(
            type: bytes[start + 3],
            flags: bytes[start + 4],
            stream: stream,
            payload: Array(bytes[start + 9..<start + 9 + count])
        )
        return (frame, 9 + count)
    }

    /// The wire format.
    package var bytes: [UInt8] { FrameBytes.frame(type, flags: flags, stream: stream, payload) }

    package var isHeaders: Bool { type == 1 }
    package var isData: Bool { type == 0 }
    package var isPing: Bool { type == 6 && flags & 1 == 0 }
    package var endsStream: Bool { (isData || isHeaders) && flags & 1 != 0 }
}

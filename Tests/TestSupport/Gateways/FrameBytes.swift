/// Frames, right or wrong, as bytes.
package enum FrameBytes {
    package static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    package static func frame(_ type: UInt8, flags: UInt8 = 0, stream: UInt32, _ payload: [UInt8] = []) -> [UInt8] {
        let count = payload.count
        return [UInt8(count >> 16 & 255), UInt8(count >> 8 & 255), UInt8(count & 255), type, flags] + number(stream)
            + payload
    }

    package static func data(_ stream: UInt32, _ bytes: [UInt8], end: Bool = false) -> [UInt8] {
        frame(0, flags: end ? 1 : 0, stream: stream, bytes)
    }

    /// A header block without compression, in one frame.
    package static func headers(_ stream: UInt32, _ fields: [(String, String)], end: Bool = false) -> [UInt8] {
        frame(1, flags: 4 | (end ? 1 : 0), stream: stream, block(fields))
    }

    package static func reset(_ stream: UInt32, _ code: UInt32) -> [UInt8] {
        frame(3, stream: stream, number(code))
    }

    package static func settings(_ values: [(UInt16, UInt32)] = []) -> [UInt8] {
        frame(4, stream: 0, values.flatMap { [UInt8($0.0 >> 8), UInt8($0.0 & 255)] + number($0.1) })
    }

    package static let settingsAcknowledgement = frame(4, flags: 1, stream: 0)

    package static func ping(_ value: UInt32, acknowledgement: Bool = false) -> [UInt8] {
        frame(6, flags: acknowledgement ? 1 : 0, stream: 0, number(0) + number(value))
    }

    package static func goAway(last: UInt32, _ code: UInt32 = 0, _ debugData: String = "") -> [UInt8] {
        frame(7, stream: 0, number(last) + number(code) + debugData.utf8)
    }

    package static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> [UInt8] {
        frame(8, stream: stream, number(increment))
    }

    package static func block(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { [0] + string($0.0) + string($0.1) }
    }

    package static func number(_ value: UInt32) -> [UInt8] {
        [UInt8(value >> 24), UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
    }

    /// A string of a header block, without compression.
    package static func string(_ text: String) -> [UInt8] {
        integer(text.utf8.count, prefix: 127) + text.utf8
    }

    private static func integer(_ value: Int, prefix: Int) -> [UInt8] {
        guard value >= prefix else { return [UInt8(value)] }
        var (rest, bytes) = (value - prefix, [UInt8(prefix)])
        while rest >= 128 {
            bytes.append(UInt8(rest & 127 | 128))
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }
}

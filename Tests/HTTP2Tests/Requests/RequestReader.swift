import CarillonHTTP2
import TestSupport

/// A peer that reads a client session's frames, as strictly as RFC 9113 and RFC 7541 allow.
final class RequestReader {
    struct Request: Equatable {
        let stream: UInt32
        let fields: [HeaderDecoder.Field]
        let endsStream: Bool
        /// The lengths of its HEADERS frame and CONTINUATION frames, and how many bytes its block had.
        let frames: [Int]

        var blockCount: Int { frames.reduce(0, +) }
        var isNeverIndexed: [String: Bool] { Dictionary(fields.map { ($0.name, $0.isNeverIndexed) }) { $1 } }

        func value(_ name: String) -> String? { fields.first { $0.name == name }?.value }
    }

    struct Fault: Error, Equatable {
        let what: String
    }

    let decoder: HeaderDecoder
    private(set) var requests: [Request] = []
    /// Settings that were sent and not acknowledged yet.
    private var settings: [[(UInt16, UInt32)]] = []
    private var frameLimit = 16_384
    private var hasPreface = false
    private var open: (stream: UInt32, endsStream: Bool, block: [UInt8], frames: [Int])?

    init() throws { decoder = try HeaderDecoder() }

    /// The frame with settings for the client. They count from the client's acknowledgement on.
    func settings(_ values: [(UInt16, UInt32)]) -> [UInt8] {
        settings.append(values)
        return FrameBytes.settings(values)
    }

    /// Reads whole frames; returns the requests among them.
    @discardableResult
    func read(_ bytes: [UInt8]) throws -> [Request] {
        var rest = bytes[...]
        if !hasPreface, rest.starts(with: FrameBytes.preface) {
            rest = rest.dropFirst(FrameBytes.preface.count)
            hasPreface = true
        }
        let before = requests.count
        while let (frame, count) = Frame.first(in: rest) {
            rest = rest.dropFirst(count)
            try read(frame)
        }
        guard rest.isEmpty else { throw Fault(what: "\(rest.count) bytes are no frame") }
        return Array(requests[before...])
    }

    private func read(_ frame: Frame) throws {
        if frame.payload.count > frameLimit { throw Fault(what: "a frame of \(frame.payload.count) bytes") }
        if let open, frame.type != 9 || frame.stream != open.stream { throw Fault(what: "a block was interrupted") }
        switch frame.type {
        case 1:
            guard frame.flags & ~5 == 0 else { throw Fault(what: "a HEADERS frame with flags \(frame.flags)") }
            open = (frame.stream, frame.endsStream, frame.payload, [frame.payload.count])
            if frame.flags & 4 != 0 { try end() }
        case 4 where frame.flags & 1 != 0: try acknowledged()
        case 9:
            guard open != nil, frame.flags & ~4 == 0 else { throw Fault(what: "a CONTINUATION frame") }
            open?.block += frame.payload
            open?.frames.append(frame.payload.count)
            if frame.flags & 4 != 0 { try end() }
        default: break
        }
    }

    private func end() throws {
        guard let open else { return }
        self.open = nil
        let fields = try decoder.decode(open.block)
        requests.append(
            Request(stream: open.stream, fields: fields, endsStream: open.endsStream, frames: open.frames)
        )
    }

    private func acknowledged() throws {
        guard !settings.isEmpty else { return }
        for (id, value) in settings.removeFirst() {
            if id == 1 { try decoder.allow(value) }
            if id == 5 { frameLimit = Int(value) }
        }
    }
}

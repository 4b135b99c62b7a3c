import CarillonIO
import CarillonTLS

/// The server's end of a connection, for scripts that send any bytes.
package struct RawLine: ~Copyable {
    /// The connection, counted from 1.
    package let number: Int
    private let loop: EventLoop
    private var stream: TLSStream
    private var room = [UInt8](repeating: 0, count: 16_384)
    private var input: ArraySlice<UInt8> = []

    init(_ number: Int, _ stream: consuming TLSStream, on loop: EventLoop) {
        self.number = number
        self.stream = stream
        self.loop = loop
    }

    /// Sends all of it. Throws when the client has closed the connection.
    package mutating func send(_ bytes: [UInt8]) async throws {
        try await stream.send(bytes, until: .now + .seconds(60), on: loop)
    }

    /// The client's next frame; nil at its end.
    package mutating func nextFrame() async throws -> Frame? {
        while true {
            if let (frame, count) = Frame.first(in: input) {
                input = input.dropFirst(count)
                return frame
            }
            guard try await receive() else { return nil }
        }
    }

    /// Reads the client's preface, exchanges settings, and opens the connection's window for all bodies.
    package mutating func greet(_ settings: [(UInt16, UInt32)] = [(3, 1_000)], acknowledges: Bool = true) async throws {
        while input.count < FrameBytes.preface.count, try await receive() {}
        input = input.dropFirst(FrameBytes.preface.count)
        try await send(FrameBytes.settings(settings) + (acknowledges ? FrameBytes.settingsAcknowledgement : []))
        try await send(FrameBytes.windowUpdate(0, 1 << 30))
    }

    /// The stream of the next request that is complete; nil at the end.
    package mutating func nextRequest() async throws -> UInt32? {
        while let frame = try await nextFrame() {
            if frame.endsStream { return frame.stream }
        }
        return nil
    }

    /// Answers requests with 200, up to that many or until the client closes.
    package mutating func serve(_ count: Int = .max) async throws {
        var answered = 0
        while answered < count, let stream = try await nextRequest() {
            try await accept(stream)
            answered += 1
        }
    }

    /// Answers a request with 200.
    package mutating func accept(_ stream: UInt32) async throws {
        try await send(FrameBytes.headers(stream, [(":status", "200")], end: true))
    }

    /// Reads until the client closes; returns the frames.
    @discardableResult
    package mutating func listen() async throws -> [Frame] {
        var frames: [Frame] = []
        while let frame = try await nextFrame() { frames.append(frame) }
        return frames
    }

    /// The client's next bytes, exactly that many; nil at its end, or where it ends before.
    package mutating func next(_ count: Int) async throws -> [UInt8]? {
        while input.count < count {
            guard try await receive() else { return nil }
        }
        defer { input = input.dropFirst(count) }
        return Array(input.prefix(count))
    }

    /// Waits, without reading, until the end of the gateway cancels the task.
    package func stayUntilStopped() async {
        await Gate().pass()
    }

    /// Sends the TLS close_notify.
    package mutating func closeNotify() { stream.closeNotify() }

    /// False at the client's end.
    private mutating func receive() async throws -> Bool {
        let count = try await stream.receive(into: &room, until: .now + .seconds(60), on: loop)
        input = Array(input) + room[..<count]
        return count > 0
    }
}

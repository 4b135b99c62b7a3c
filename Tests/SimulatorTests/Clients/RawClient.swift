import CarillonIO
import CarillonTLS
import TestSupport

@testable import ApplePushSimulator

/// A client that sends any frames, and reads frame by frame.
struct RawClient: ~Copyable {
    private let loop: EventLoop
    private let deadline = MonotonicInstant.now + .seconds(30)
    private var stream: TLSStream
    private var room = [UInt8](repeating: 0, count: 65_536)
    private var input: ArraySlice<UInt8> = []

    /// Connects, by default with a certificate for `com.example.app`, and sends the beginning of HTTP/2 or other bytes.
    static func connect(
        to simulator: APNsSimulator,
        hasCertificate: Bool = true,
        saying first: [UInt8] = FrameBytes.preface + FrameBytes.settings(),
        on loop: EventLoop
    ) async throws -> RawClient {
        let issued = hasCertificate ? try simulator.issueCertificate(topics: ["com.example.app"]) : nil
        let identity = try issued.map { try Identity(certificate: $0.certificate, privateKey: $0.privateKey) }
        let stream = try await simulator.connect(identity: identity, on: loop)
        var client = RawClient(stream, loop)
        try await client.send(first)
        return client
    }

    private init(_ stream: consuming TLSStream, _ loop: EventLoop) {
        self.stream = stream
        self.loop = loop
    }

    /// The fields of a request, of which a test may change any.
    static func fields(_ change: KeyValuePairs<String, String> = [:]) -> [(String, String)] {
        var fields = [
            (":method", "POST"), (":scheme", "https"), (":authority", "localhost"),
            (":path", "/3/device/" + SampleRequest.token),
        ]
        for (name, value) in change {
            if let index = fields.firstIndex(where: { $0.0 == name }) {
                fields[index].1 = value
            } else {
                fields.append((name, value))
            }
        }
        return fields
    }

    mutating func send(_ bytes: [UInt8]) async throws {
        try await stream.send(bytes, until: deadline, on: loop)
    }

    /// Makes its end a reset of the TCP connection.
    mutating func resetWhenClosed() { stream.resetWhenClosed() }

    /// Closes the socket.
    consuming func close() {}

    /// Reads until such a frame; nil if the simulator closes first.
    mutating func frame(where isWanted: (Frame) -> Bool) async throws -> Frame? {
        while true {
            while let (frame, count) = Frame.first(in: input) {
                input = input.dropFirst(count)
                if isWanted(frame) { return frame }
            }
            let count = try await stream.receive(into: &room, until: deadline, on: loop)
            if count == 0 { return nil }
            input = Array(input + room[..<count])[...]
        }
    }

    /// The code with which the simulator resets the stream.
    mutating func resetCode(of stream: UInt32) async throws -> UInt32? {
        let frame = try await frame { $0.type == 3 && $0.stream == stream }
        return frame?.payload.reduce(0) { $0 << 8 | UInt32($1) }
    }
}

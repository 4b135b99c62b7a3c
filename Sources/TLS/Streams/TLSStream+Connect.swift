package import CarillonIO

extension TLSStream {
    /// Connects over TCP and performs the handshake, each within its time limit, waiting on the loop.
    package static func connect(
        host: String,
        port: UInt16,
        context: TLSContext,
        connectTimeout: Duration,
        handshakeTimeout: Duration,
        on loop: EventLoop
    ) async throws(TLSError) -> TLSStream {
        let descriptor: CInt
        do {
            descriptor = try await TCP.connect(host: host, port: port, timeout: connectTimeout, on: loop).release()
        } catch {
            throw TLSError(error)
        }
        var stream = try TLSStream(client: context, host: host, socket: Socket(owning: descriptor))
        try await stream.shakeHands(until: .now + handshakeTimeout, on: loop)
        return stream
    }

    /// Completes the handshake, or throws at the deadline.
    package mutating func shakeHands(until deadline: MonotonicInstant, on loop: EventLoop) async throws(TLSError) {
        while let interest = try handshake() {
            try await wait(for: interest, until: deadline, doing: "the TLS handshake", on: loop)
        }
    }

    /// Waits for bytes and reads them into the front of the array; 0 once the peer has closed.
    package mutating func receive(
        into bytes: inout [UInt8],
        until deadline: MonotonicInstant,
        on loop: EventLoop
    ) async throws(TLSError) -> Int {
        while true {
            switch try read(into: &bytes) {
            case .bytes(let count): return count
            case .closed: return 0
            case .wantsRead: try await wait(for: .read, until: deadline, doing: "reading", on: loop)
            case .wantsWrite: try await wait(for: .write, until: deadline, doing: "reading", on: loop)
            }
        }
    }

    /// Writes all of the bytes, waiting while the socket is full.
    package mutating func send(
        _ bytes: [UInt8],
        until deadline: MonotonicInstant,
        on loop: EventLoop
    ) async throws(TLSError) {
        var sent = 0
        while sent < bytes.count {
            switch try write(bytes.span.bytes.extracting(sent..<bytes.count)) {
            case .bytes(let count): sent += count
            case .wantsRead: try await wait(for: .read, until: deadline, doing: "writing", on: loop)
            case .wantsWrite: try await wait(for: .write, until: deadline, doing: "writing", on: loop)
            }
        }
    }

    private func wait(
        for interest: Interest,
        until deadline: MonotonicInstant,
        doing: String,
        on loop: EventLoop
    ) async throws(TLSError) {
        let what = "\(doing) with \(peer)"
        do {
            _ = try await loop.readiness(of: descriptor, for: interest, until: deadline, doing: what)
        } catch {
            throw TLSError(error)
        }
    }
}

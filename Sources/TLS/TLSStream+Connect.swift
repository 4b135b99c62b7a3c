package import IO

extension TLSStream {
    /// Connects over TCP and shakes hands, each within its time, waiting on the loop. The stream may then be watched
    /// there. Errors tell what failed: the name, the way, the port, the time, the trust, or the peer's own refusal.
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

    /// Accepts a connection: the server's side of the handshake, waiting on the loop.
    package static func accept(
        _ socket: consuming Socket,
        context: TLSContext,
        timeout: Duration,
        on loop: EventLoop
    ) async throws(TLSError) -> TLSStream {
        var stream = try TLSStream(server: context, socket: socket)
        try await stream.shakeHands(until: .now + timeout, on: loop)
        return stream
    }

    /// The handshake to its end, or to the deadline.
    package mutating func shakeHands(until deadline: MonotonicInstant, on loop: EventLoop) async throws(TLSError) {
        while true {
            let interest: Interest
            switch try self.handshake() {
            case .done: return
            case .wantsRead: interest = .read
            case .wantsWrite: interest = .write
            }
            try await self.wait(for: interest, until: deadline, doing: "the TLS handshake", on: loop)
        }
    }

    /// Waits for bytes and reads what there is into the front of the array; 0 at the peer's end.
    package mutating func receive(
        into bytes: inout [UInt8],
        until deadline: MonotonicInstant,
        on loop: EventLoop
    ) async throws(TLSError) -> Int {
        while true {
            let interest: Interest
            switch try self.read(into: &bytes) {
            case .bytes(let count): return count
            case .closed: return 0
            case .wantsRead: interest = .read
            case .wantsWrite: interest = .write
            }
            try await self.wait(for: interest, until: deadline, doing: "reading", on: loop)
        }
    }

    /// Writes all of the bytes, waiting where the socket is full.
    package mutating func send(
        _ bytes: [UInt8],
        until deadline: MonotonicInstant,
        on loop: EventLoop
    ) async throws(TLSError) {
        var sent = 0
        while sent < bytes.count {
            let interest: Interest
            switch try self.write(bytes.span.bytes.extracting(sent..<bytes.count)) {
            case .bytes(let count):
                sent += count
                continue
            case .wantsRead: interest = .read
            case .wantsWrite: interest = .write
            }
            try await self.wait(for: interest, until: deadline, doing: "writing", on: loop)
        }
    }

    private func wait(
        for interest: Interest,
        until deadline: MonotonicInstant,
        doing: String,
        on loop: EventLoop
    ) async throws(TLSError) {
        let what = "\(doing) with \(self.peer)"
        do {
            _ = try await loop.readiness(of: self.descriptor, for: interest, until: deadline, doing: what)
        } catch {
            throw TLSError(error)
        }
    }
}

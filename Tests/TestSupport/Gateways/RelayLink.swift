import IO
import TLS

/// One connection through a relay: TLS to the client, TLS to the server, and frames between them. On the relay's loop
/// only.
final class RelayLink {
    private final class End {
        var stream: TLSStream?
        var watch: WatchToken?
        var interest: Interest = .read
        /// What has come and is not a whole frame yet.
        var input: ArraySlice<UInt8> = []
        /// What goes out.
        var output: ArraySlice<UInt8> = []

        init(_ stream: consuming TLSStream) { self.stream = consume stream }

        /// Reads all there is; false at the end.
        func read(into room: inout [UInt8]) throws -> Bool {
            while true {
                switch try self.stream?.read(into: &room) {
                case .bytes(let count): self.input = Array(self.input) + room[..<count]
                case .closed, nil: return false
                case .wantsRead, .wantsWrite: return true
                }
            }
        }

        func write(in piece: Int) throws {
            while !self.output.isEmpty {
                let bytes = Array(self.output.prefix(piece))
                guard case .bytes(let count)? = try self.stream?.write(bytes.span.bytes) else { return }
                self.output = self.output.dropFirst(count)
            }
        }
    }

    private let number: Int
    private let loop: EventLoop
    private let client: End
    private let server: End
    private let judge: Relay.Judge
    private let piece: Int
    private let ended: () -> Void
    private var room = [UInt8](repeating: 0, count: 16_384)
    private var hasPreface = false
    private var answers = 0
    /// Settings that the server does not know it has sent: it must not see them acknowledged.
    private var foreignSettings = 0
    private var isFrozen = false
    private var isOver = false

    init(
        _ number: Int,
        _ client: consuming TLSStream,
        _ server: consuming TLSStream,
        piece: Int,
        on loop: EventLoop,
        judge: @escaping Relay.Judge,
        ended: @escaping () -> Void
    ) {
        self.number = number
        self.client = End(client)
        self.server = End(server)
        self.loop = loop
        self.piece = piece
        self.judge = judge
        self.ended = ended
    }

    func begin() throws {
        for end in [self.client, self.server] {
            guard let descriptor = end.stream?.descriptor else { continue }
            end.watch = try self.loop.watch(descriptor, for: .read) { [weak self] _ in self?.work() }
        }
        self.work()
    }

    func end() {
        guard !self.isOver else { return }
        self.isOver = true
        for end in [self.client, self.server] {
            if let watch = end.watch.take() { self.loop.cancel(watch) }
            end.stream = nil
        }
        self.ended()
    }

    private func work() {
        if self.isOver { return }
        do {
            var isAlive = true
            if !self.isFrozen {
                let isHeard = try self.client.read(into: &self.room)
                self.passUp()
                let isAnswered = try self.server.read(into: &self.room)
                self.passDown()
                isAlive = isHeard && isAnswered
            }
            if self.isOver { return }
            try self.client.write(in: self.piece)
            try self.server.write(in: self.piece)
            if !isAlive { return self.end() }
        } catch {
            return self.end()
        }
        for end in [self.client, self.server] { self.wait(for: end) }
    }

    /// Nothing is heard of a frozen connection but that it was closed.
    private func wait(for end: End) {
        let interest: Interest = self.isFrozen ? [] : end.output.isEmpty ? .read : [.read, .write]
        guard interest != end.interest, let watch = end.watch else { return }
        end.interest = interest
        self.loop.update(watch, to: interest)
    }

    // MARK: Frames

    private func passUp() {
        if !self.hasPreface {
            guard self.client.input.count >= Frames.preface.count else { return }
            self.server.output += self.client.input.prefix(Frames.preface.count)
            self.client.input = self.client.input.dropFirst(Frames.preface.count)
            self.hasPreface = true
        }
        while !self.isOver, !self.isFrozen, let (frame, count) = Frame.first(in: self.client.input) {
            self.client.input = self.client.input.dropFirst(count)
            if frame.type == 4, frame.flags & 1 != 0, self.foreignSettings > 0 {
                self.foreignSettings -= 1
            } else {
                self.carryOut(self.acts(on: frame, .up), frame, to: self.server)
            }
        }
    }

    private func passDown() {
        while !self.isOver, !self.isFrozen, let (frame, count) = Frame.first(in: self.server.input) {
            self.server.input = self.server.input.dropFirst(count)
            if frame.isHeaders { self.answers += 1 }
            self.carryOut(self.acts(on: frame, .down), frame, to: self.client)
        }
    }

    private func acts(on frame: Frame, _ direction: RelayFrame.Direction) -> [RelayAct] {
        self.judge(
            RelayFrame(direction: direction, connection: self.number, answers: self.answers, frame: frame)
        )
    }

    private func carryOut(_ acts: [RelayAct], _ frame: Frame, to target: End) {
        for act in acts where !self.isOver {
            switch act {
            case .pass: target.output += frame.bytes
            case .say(let bytes):
                self.client.output += bytes
                self.countSettings(bytes[...])
            case .freeze: self.isFrozen = true
            case .hangUp:
                try? self.client.write(in: self.piece)
                self.end()
            case .close:
                try? self.client.write(in: self.piece)
                self.client.stream?.closeNotify()
                self.end()
            }
        }
    }

    private func countSettings(_ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        while let (frame, count) = Frame.first(in: rest) {
            if frame.type == 4, frame.flags & 1 == 0 { self.foreignSettings += 1 }
            rest = rest.dropFirst(count)
        }
    }
}

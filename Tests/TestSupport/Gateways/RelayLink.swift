import CarillonIO
import CarillonTLS

/// One connection through a relay: TLS to the client, TLS to the server, and frames between them. It is confined to the
/// relay's loop.
final class RelayLink {
    private final class End {
        var stream: TLSStream?
        var watch: WatchToken?
        var interest: Interest = .read
        /// Input that is not a whole frame yet.
        var input: ArraySlice<UInt8> = []
        var output: ArraySlice<UInt8> = []

        init(_ stream: consuming TLSStream) { self.stream = consume stream }

        /// Reads all there is; false at the end.
        func read(into room: inout [UInt8]) throws -> Bool {
            while true {
                switch try stream?.read(into: &room) {
                case .bytes(let count): input = Array(input) + room[..<count]
                case .closed, nil: return false
                case .wantsRead, .wantsWrite: return true
                }
            }
        }

        func write(in piece: Int) throws {
            while !output.isEmpty {
                let bytes = Array(output.prefix(piece))
                guard case .bytes(let count)? = try stream?.write(bytes.span.bytes) else { return }
                output = output.dropFirst(count)
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
    /// SETTINGS that the relay has sent in the server's name: the server must not receive their acknowledgements.
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
        for end in [client, server] {
            guard let descriptor = end.stream?.descriptor else { continue }
            end.watch = try loop.watch(descriptor, for: .read) { [weak self] _ in self?.work() }
        }
        work()
    }

    func end() {
        guard !isOver else { return }
        isOver = true
        for end in [client, server] {
            if let watch = end.watch.take() { loop.cancel(watch) }
            end.stream = nil
        }
        ended()
    }

    private func work() {
        if isOver { return }
        do {
            var isAlive = true
            if !isFrozen {
                let isHeard = try client.read(into: &room)
                passUp()
                let isAnswered = try server.read(into: &room)
                passDown()
                isAlive = isHeard && isAnswered
            }
            if isOver { return }
            try client.write(in: piece)
            try server.write(in: piece)
            if !isAlive { return end() }
        } catch {
            return end()
        }
        for end in [client, server] { wait(for: end) }
    }

    /// Of a frozen connection only its end is noticed.
    private func wait(for end: End) {
        let interest: Interest = isFrozen ? [] : end.output.isEmpty ? .read : [.read, .write]
        guard interest != end.interest, let watch = end.watch else { return }
        end.interest = interest
        loop.update(watch, to: interest)
    }

    // MARK: FrameBytes

    private func passUp() {
        if !hasPreface {
            guard client.input.count >= FrameBytes.preface.count else { return }
            server.output += client.input.prefix(FrameBytes.preface.count)
            client.input = client.input.dropFirst(FrameBytes.preface.count)
            hasPreface = true
        }
        while !isOver, !isFrozen, let (frame, count) = Frame.first(in: client.input) {
            client.input = client.input.dropFirst(count)
            if frame.type == 4, frame.flags & 1 != 0, foreignSettings > 0 {
                foreignSettings -= 1
            } else {
                carryOut(acts(on: frame, .up), frame, to: server)
            }
        }
    }

    private func passDown() {
        while !isOver, !isFrozen, let (frame, count) = Frame.first(in: server.input) {
            server.input = server.input.dropFirst(count)
            if frame.isHeaders { answers += 1 }
            carryOut(acts(on: frame, .down), frame, to: client)
        }
    }

    private func acts(on frame: Frame, _ direction: RelayFrame.Direction) -> [RelayAct] {
        judge(RelayFrame(direction: direction, connection: number, answers: answers, frame: frame))
    }

    private func carryOut(_ acts: [RelayAct], _ frame: Frame, to target: End) {
        for act in acts where !isOver {
            switch act {
            case .pass: target.output += frame.bytes
            case .say(let bytes):
                client.output += bytes
                countSettings(bytes[...])
            case .freeze: isFrozen = true
            case .hangUp:
                try? client.write(in: piece)
                end()
            case .close:
                try? client.write(in: piece)
                client.stream?.closeNotify()
                end()
            }
        }
    }

    private func countSettings(_ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        while let (frame, count) = Frame.first(in: rest) {
            if frame.type == 4, frame.flags & 1 == 0 { foreignSettings += 1 }
            rest = rest.dropFirst(count)
        }
    }
}

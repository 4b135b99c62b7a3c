import CarillonIO
import TestSupport

@testable import ApplePush

/// What a pool does with connections of the binary protocol, one after the other and without sockets, and an honest gateway:
/// it accepts in order, names the first bad push within its latency, and takes nothing after it. A seed decides which pushes
/// are bad, how much the kernel takes, how time passes, and when the connection breaks.
final class BinaryFuzz {
    /// Longer than an error takes.
    private static let quiet = Duration.seconds(3)
    private static let latency = 1_000

    private var random: SeededGenerator
    private let queue: DeliveryQueue
    private let wire: BinaryWire
    private var conversation: BinaryConversation
    private(set) var now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    /// Drained and not sent.
    private var output: [UInt8] = []
    /// Sent and not read by the gateway.
    private var arriving: ArraySlice<UInt8> = []
    private var answer: (bytes: [UInt8], due: MonotonicInstant)?

    /// How often the gateway has accepted each device token.
    private(set) var accepted: [UInt32: Int] = [:]
    private(set) var refused: Set<UInt32> = []
    private(set) var conversations = 1

    init(seed: UInt64, _ queue: DeliveryQueue) {
        random = SeededGenerator(seed: seed)
        self.queue = queue
        var configuration = BinaryConfiguration()
        configuration.quietPeriod = Self.quiet
        configuration.window = seed % 3 == 0 ? 20 : 1_000
        configuration.barrierCount = seed % 2 == 0 ? 10 : 1_000
        configuration.firstWindow = 50
        wire = BinaryWire(configuration)
        conversation = BinaryConversation(of: wire, sending: queue, maximumAge: configuration.maximumAge)
        conversation.connected(at: now)
    }

    func run(_ steps: Int) {
        for _ in 0..<steps {
            step()
            tidy()
        }
        for _ in 0..<100 where !queue.isEmpty {
            _ = conversation.submit(.max, at: now)
            write(all: true)
            read(arriving.count)
            pass(.milliseconds(500))
            tidy()
        }
        breakOff()
        queue.giveUp(.late)
    }

    private func step() {
        switch roll(40) {
        case 0..<12: _ = conversation.submit(1 + roll(30), at: now)
        case 12..<26: write(all: roll(3) > 0)
        case 26..<34: read(roll(arriving.count + 1))
        case 34..<37: pass(.milliseconds(roll(800)))
        case 37: pass(.milliseconds(roll(8_000)))
        case 38 where roll(4) == 0: breakOff()
        case 39 where roll(4) == 0: conversation.retire(.aged)
        default: read(arriving.count)
        }
    }

    // MARK: What the pool does

    private func write(all: Bool) {
        try? conversation.drain(into: &output, limit: all ? .max : output.count + roll(300))
        let count = all ? output.count : roll(output.count + 1)
        conversation.sent(count)
        arriving += output[..<count]
        output.removeFirst(count)
        conversation.wrote(isStalled: !output.isEmpty, at: now)
    }

    private func pass(_ time: Duration) {
        // From its arrival on, the gateway takes no longer than its latency to read a push and refuse it.
        conversation.arrived(allBut: arriving.count, at: now)
        now = now + time
        hear()
        conversation.passed(to: now)
        queue.passed(to: now)
    }

    /// Replaces a connection that has ended, or has nothing left to wait for.
    private func tidy() {
        switch conversation.life.phase {
        case .closed: break
        case .draining where conversation.room.inFlight == 0: break
        default: return
        }
        breakOff()
    }

    private func breakOff() {
        _ = conversation.end(.closedByPeer)
        conversations += 1
        (output, arriving, answer) = ([], [], nil)
        conversation = BinaryConversation(of: wire, sending: queue, maximumAge: wire.configuration.maximumAge)
        conversation.connected(at: now)
    }

    // MARK: The gateway

    private func read(_ count: Int) {
        var bytes = arriving.prefix(count)
        while answer == nil, bytes.count >= 5 {
            let length = 5 + bytes.dropFirst().prefix(4).reduce(0) { $0 << 8 | Int($1) }
            guard bytes.count >= length else { break }
            judge(Array(bytes.prefix(length)))
            bytes = bytes.dropFirst(length)
            arriving = arriving.dropFirst(length)
        }
        if answer != nil { arriving = [] }
        hear()
    }

    private func judge(_ frame: [UInt8]) {
        let tokenLength = Int(frame[7])
        let token = frame[8..<8 + tokenLength].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let payload = 8 + tokenLength
        let identifier = payload + 3 + Int(frame[payload + 1]) << 8 + Int(frame[payload + 2]) + 3
        let isShutdown = tokenLength > 0 && roll(300) == 0
        guard tokenLength == 0 || refused.contains(token) || isShutdown || roll(60) == 0 else {
            accepted[token, default: 0] += 1
            return
        }
        if isShutdown, !refused.contains(token) {
            accepted[token, default: 0] += 1
        } else if tokenLength > 0 {
            refused.insert(token)
        }
        let status: UInt8 = tokenLength == 0 ? 2 : refused.contains(token) ? 8 : 10
        let bytes = [8, status] + frame[identifier..<identifier + 4]
        answer = (bytes, now + .milliseconds(roll(Self.latency)))
    }

    private func hear() {
        guard let (bytes, due) = answer, due <= now, !conversation.life.isClosed else { return }
        answer = nil
        let cut = roll(bytes.count)
        conversation.received(Array(bytes[..<cut]).span.bytes, at: now)
        conversation.received(Array(bytes[cut...]).span.bytes, at: now)
    }

    private func roll(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &random) }
}

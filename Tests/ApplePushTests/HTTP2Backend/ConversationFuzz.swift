import CarillonHTTP2
import CarillonIO
import TestSupport

@testable import ApplePush

/// What a pool does with its connections, one after the other and without sockets. A seed decides what the gateway sends,
/// how much it accepts, and how time passes.
final class ConversationFuzz {
    private var random: SeededGenerator
    private let queue: DeliveryQueue
    private var conversation: HTTP2Conversation
    private(set) var now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    /// Drained and not sent.
    private var output: [UInt8] = []
    /// Sent and not read by the gateway.
    private var heard: ArraySlice<UInt8> = []
    /// The streams that the gateway has seen.
    private var streams: [UInt32] = []

    /// How many pushes were answered with 200, at most.
    private(set) var accepted = 0
    private(set) var conversations = 1
    /// Pushes that a connection still had after its end.
    private(set) var forgotten = 0

    init(seed: UInt64, _ queue: DeliveryQueue) throws {
        random = SeededGenerator(seed: seed)
        self.queue = queue
        conversation = try Self.conversation(of: queue, acceptanceLimit: [nil, 1, 8][Int(seed % 3)], at: now)
    }

    private static func conversation(
        of queue: DeliveryQueue,
        acceptanceLimit: Int?,
        at now: MonotonicInstant
    ) throws -> HTTP2Conversation {
        let configuration = HTTP2Configuration()
        return try HTTP2Conversation(
            authority: "localhost",
            configuration,
            ConversationTerms(acceptanceLimit: acceptanceLimit),
            sending: queue,
            maximumAge: configuration.maximumAge,
            at: now
        )
    }

    func run(_ steps: Int) throws {
        try begin()
        for _ in 0..<steps {
            step()
            try tidy()
        }
        end()
        queue.giveUp(.late)
    }

    // MARK: What the pool does

    private func begin() throws {
        (output, heard, streams) = ([], [], [])
        conversation.connected(at: now)
        // Most gateways begin with settings, so that pushes are sent.
        if roll(8) > 0 { feed(FrameBytes.settings([(3, 1_000)]) + FrameBytes.settingsAcknowledgement) }
        try? conversation.drain(into: &output, limit: .max)
        send(all: true)
    }

    /// Replaces a connection that has ended.
    private func tidy() throws {
        switch conversation.life.phase {
        case .closed: break
        case .draining where conversation.room.inFlight == 0: break
        default: return
        }
        end()
        conversations += 1
        conversation = try Self.conversation(of: queue, acceptanceLimit: [nil, 1, 8][roll(3)], at: now)
        try begin()
    }

    private func end() {
        _ = conversation.end(.closedByPeer)
        forgotten += conversation.room.inFlight
    }

    private func send(all: Bool) {
        let count = all ? output.count : roll(output.count + 1)
        conversation.sent(count)
        heard += output[..<count]
        output.removeFirst(count)
        conversation.wrote(isStalled: !output.isEmpty && roll(2) == 0, at: now)
        if heard.starts(with: FrameBytes.preface) { heard = heard.dropFirst(FrameBytes.preface.count) }
        while let (frame, count) = Frame.first(in: heard) {
            heard = heard.dropFirst(count)
            if frame.isHeaders { streams.append(frame.stream) }
        }
    }

    private func pass(_ time: Duration) {
        now = now + time
        conversation.passed(to: now)
        queue.passed(to: now)
    }

    // MARK: What happens

    private func step() {
        switch roll(64) {
        case 0..<14: _ = conversation.submit(1 + roll(40), at: now)
        case 14..<24:
            try? conversation.drain(into: &output, limit: roll(4) == 0 ? roll(500) : .max)
            send(all: roll(4) > 0)
        case 24..<46: feed(answer())
        case 46..<49: pass(.milliseconds(Int64(roll(3_000))))
        case 49: pass(.seconds(Int64(roll(30))))
        case 50: feed(FrameBytes.settings([(3, UInt32(roll(3) * roll(200)))]))
        case 51: feed(FrameBytes.settings([(4, UInt32(roll(3) * roll(70_000)))]))
        case 52, 53: feed(FrameBytes.windowUpdate(roll(2) == 0 ? 0 : stream(), 1 + word() & 0xffff))
        case 54, 55: feed(FrameBytes.reset(stream(), roll(2) == 0 ? 7 : UInt32(roll(14))))
        case 56, 57: feed(FrameBytes.ping(word(), acknowledgement: roll(2) == 0))
        case 58: feed(FrameBytes.data(stream(), [UInt8](repeating: 65, count: roll(6_000)), end: true))
        case 59 where roll(4) == 0: feed(goodbye())
        case 60 where roll(8) == 0: feed(nonsense())
        case 61 where roll(8) == 0: feed(damaged(answer()))
        case 62 where roll(8) == 0: conversation.retire(.aged)
        default: feed(answer())
        }
    }

    /// Bytes arrive in random pieces.
    private func feed(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty, !conversation.life.isClosed {
            let count = roll(3) > 0 ? rest.count : 1 + roll(rest.count)
            let piece = Array(rest.prefix(count))
            conversation.received(piece.span.bytes, at: now)
            rest = rest.dropFirst(count)
        }
    }

    private func answer() -> [UInt8] {
        let statuses = ["200", "200", "200", "200", "410", "400", "403", "429", "500", "103", "x"]
        let reasons = ["Unregistered", "BadDeviceToken", "TooManyRequests", "Shutdown", "ExpiredProviderToken", "Odd"]
        let stream = self.stream()
        let status = statuses[roll(statuses.count)]
        if status == "200" {
            accepted += 1
            return FrameBytes.headers(stream, [(":status", status), ("apns-id", "x")], end: roll(16) > 0)
        }
        let body = #"{"reason":"\#(reasons[roll(reasons.count)])","timestamp":17}"#
        return FrameBytes.headers(stream, [(":status", status), ("retry-after", "3")])
            + FrameBytes.data(stream, Array(body.utf8), end: roll(8) > 0)
    }

    private func goodbye() -> [UInt8] {
        let reasons = ["", #"{"reason":"Shutdown"}"#, #"{"reason":"BadCertificate"}"#, #"{"reason":"\u0000"#]
        let last = roll(3) == 0 ? (1 << 31) - 1 : stream()
        return FrameBytes.goAway(last: last, UInt32(roll(14)), reasons[roll(reasons.count)])
    }

    private func nonsense() -> [UInt8] {
        let payload = bytes(roll(64))
        return roll(3) == 0
            ? payload : FrameBytes.frame(UInt8(roll(14)), flags: bytes(1)[0], stream: stream(), payload)
    }

    private func damaged(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        bytes[roll(bytes.count)] ^= 1 << roll(8)
        return bytes
    }

    /// An open stream as a rule, rarely one that was never open.
    private func stream() -> UInt32 {
        if streams.isEmpty || roll(100) == 0 { return UInt32(roll(3_000)) }
        let place = roll(streams.count)
        return roll(4) > 0 ? streams.remove(at: place) : streams[place]
    }

    private func roll(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &random) }
    private func word() -> UInt32 { UInt32.random(in: 0...0x7fff_ffff, using: &random) }
    private func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(roll(256)) } }
}

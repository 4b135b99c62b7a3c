import HTTP2
import IO
import TestSupport

@testable import ApplePush

/// What a pool does with its connections, one after the other and without sockets. A seed decides what the gateway says,
/// how much of what we say it takes, and how time goes by.
final class ConversationFuzz {
    private var random: SeededGenerator
    private let queue: DeliveryQueue
    private var conversation: Conversation
    private(set) var now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    /// What was drained and has not left.
    private var output: [UInt8] = []
    /// What has left and was not looked at by the gateway.
    private var heard: ArraySlice<UInt8> = []
    /// The streams that the gateway knows of.
    private var streams: [UInt32] = []

    /// How many answers said that a push was taken, at most.
    private(set) var accepted = 0
    private(set) var conversations = 1
    /// Pushes that a connection still had after its end.
    private(set) var forgotten = 0

    init(seed: UInt64, _ queue: DeliveryQueue) throws {
        self.random = SeededGenerator(seed: seed)
        self.queue = queue
        self.conversation = try Self.conversation(of: queue, trial: [nil, 1, 8][Int(seed % 3)], at: self.now)
    }

    private static func conversation(
        of queue: DeliveryQueue,
        trial: Int?,
        at now: MonotonicInstant
    ) throws -> Conversation {
        try Conversation(
            authority: "localhost",
            trial: trial,
            authorization: nil,
            deliveries: queue,
            limits: HTTP2Configuration().limits,
            requestTimeout: .seconds(10),
            at: now
        )
    }

    func run(_ steps: Int) throws {
        try self.begin()
        for _ in 0..<steps {
            self.step()
            try self.tidy()
        }
        self.end()
        self.queue.giveUp(.late) { _ in true }
    }

    // MARK: What the pool does

    private func begin() throws {
        (self.output, self.heard, self.streams) = ([], [], [])
        self.conversation.connected(at: self.now)
        // Most gateways begin politely, or nothing would come of them.
        if self.roll(8) > 0 { self.feed(Frames.settings([(3, 1_000)]) + Frames.settingsAcknowledgement) }
        try? self.conversation.drain(into: &self.output, limit: .max)
        self.send(all: true)
    }

    /// Replaces a connection that has ended.
    private func tidy() throws {
        switch self.conversation.life.phase {
        case .closed: break
        case .draining where self.conversation.inFlightCount == 0: break
        default: return
        }
        self.end()
        self.conversations += 1
        self.conversation = try Self.conversation(of: self.queue, trial: [nil, 1, 8][self.roll(3)], at: self.now)
        try self.begin()
    }

    private func end() {
        _ = self.conversation.end(.closedByPeer)
        self.forgotten += self.conversation.inFlightCount
    }

    private func send(all: Bool) {
        let count = all ? self.output.count : self.roll(self.output.count + 1)
        self.conversation.sent(count)
        self.heard += self.output[..<count]
        self.output.removeFirst(count)
        self.conversation.wrote(isStalled: !self.output.isEmpty && self.roll(2) == 0, at: self.now)
        if self.heard.starts(with: Frames.preface) { self.heard = self.heard.dropFirst(Frames.preface.count) }
        while let (frame, count) = Frame.first(in: self.heard) {
            self.heard = self.heard.dropFirst(count)
            if frame.isHeaders { self.streams.append(frame.stream) }
        }
    }

    private func pass(_ time: Duration) {
        self.now = self.now + time
        self.conversation.passed(to: self.now)
        self.queue.passed(to: self.now)
    }

    // MARK: What happens

    private func step() {
        switch self.roll(64) {
        case 0..<14: _ = self.conversation.submit(1 + self.roll(40), at: self.now)
        case 14..<24:
            try? self.conversation.drain(into: &self.output, limit: self.roll(4) == 0 ? self.roll(500) : .max)
            self.send(all: self.roll(4) > 0)
        case 24..<46: self.feed(self.answer())
        case 46..<49: self.pass(.milliseconds(Int64(self.roll(3_000))))
        case 49: self.pass(.seconds(Int64(self.roll(30))))
        case 50: self.feed(Frames.settings([(3, UInt32(self.roll(3) * self.roll(200)))]))
        case 51: self.feed(Frames.settings([(4, UInt32(self.roll(3) * self.roll(70_000)))]))
        case 52, 53: self.feed(Frames.windowUpdate(self.roll(2) == 0 ? 0 : self.stream(), 1 + self.word() & 0xffff))
        case 54, 55: self.feed(Frames.reset(self.stream(), self.roll(2) == 0 ? 7 : UInt32(self.roll(14))))
        case 56, 57: self.feed(Frames.ping(self.word(), acknowledgement: self.roll(2) == 0))
        case 58: self.feed(Frames.data(self.stream(), [UInt8](repeating: 65, count: self.roll(6_000)), end: true))
        case 59 where self.roll(4) == 0: self.feed(self.goodbye())
        case 60 where self.roll(8) == 0: self.feed(self.nonsense())
        case 61 where self.roll(8) == 0: self.feed(self.damaged(self.answer()))
        case 62 where self.roll(8) == 0: self.conversation.retire(.aged)
        default: self.feed(self.answer())
        }
    }

    /// Bytes come in pieces as they like.
    private func feed(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty, !self.conversation.life.isClosed {
            let count = self.roll(3) > 0 ? rest.count : 1 + self.roll(rest.count)
            let piece = Array(rest.prefix(count))
            self.conversation.received(piece.span.bytes, at: self.now)
            rest = rest.dropFirst(count)
        }
    }

    private func answer() -> [UInt8] {
        let statuses = ["200", "200", "200", "200", "410", "400", "403", "429", "500", "103", "x"]
        let reasons = ["Unregistered", "BadDeviceToken", "TooManyRequests", "Shutdown", "ExpiredProviderToken", "Odd"]
        let stream = self.stream()
        let status = statuses[self.roll(statuses.count)]
        if status == "200" {
            self.accepted += 1
            return Frames.headers(stream, [(":status", status), ("apns-id", "x")], end: self.roll(16) > 0)
        }
        let body = #"{"reason":"\#(reasons[self.roll(reasons.count)])","timestamp":17}"#
        return Frames.headers(stream, [(":status", status), ("retry-after", "3")])
            + Frames.data(stream, Array(body.utf8), end: self.roll(8) > 0)
    }

    private func goodbye() -> [UInt8] {
        let reasons = ["", #"{"reason":"Shutdown"}"#, #"{"reason":"BadCertificate"}"#, #"{"reason":"\u0000"#]
        let last = self.roll(3) == 0 ? (1 << 31) - 1 : self.stream()
        return Frames.goAway(last: last, UInt32(self.roll(14)), reasons[self.roll(reasons.count)])
    }

    private func nonsense() -> [UInt8] {
        let payload = self.bytes(self.roll(64))
        return self.roll(3) == 0
            ? payload : Frames.frame(UInt8(self.roll(14)), flags: self.bytes(1)[0], stream: self.stream(), payload)
    }

    private func damaged(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        bytes[self.roll(bytes.count)] ^= 1 << self.roll(8)
        return bytes
    }

    /// A stream that is open as a rule, and seldom one that never was.
    private func stream() -> UInt32 {
        if self.streams.isEmpty || self.roll(100) == 0 { return UInt32(self.roll(3_000)) }
        let place = self.roll(self.streams.count)
        return self.roll(4) > 0 ? self.streams.remove(at: place) : self.streams[place]
    }

    private func roll(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &self.random) }
    private func word() -> UInt32 { UInt32.random(in: 0...0x7fff_ffff, using: &self.random) }
    private func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(self.roll(256)) } }
}

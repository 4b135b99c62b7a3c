import CarillonIO
import TestSupport
import Testing

@testable import ApplePush

@Suite struct BinaryConversationTests {
    private static let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    /// A conversation that has sent ten pushes of a hundred.
    private static func conversation(_ queue: DeliveryQueue) -> BinaryConversation {
        let configuration = BinaryConfiguration()
        let wire = BinaryWire(configuration)
        let conversation = BinaryConversation(of: wire, sending: queue, maximumAge: configuration.maximumAge)
        conversation.connected(at: start)
        send(10, by: conversation, at: start)
        return conversation
    }

    private static func send(_ count: Int, by conversation: BinaryConversation, at now: MonotonicInstant) {
        _ = conversation.submit(count, at: now)
        var output: [UInt8] = []
        try? conversation.drain(into: &output, limit: .max)
        conversation.sent(output.count)
        conversation.wrote(isStalled: false, at: now)
        conversation.arrived(allBut: 0, at: now)
    }

    private static func outcomes(_ run: (BinaryConversation) -> Void) throws -> Outcomes {
        let queue = DeliveryQueue(waitingTimeout: .seconds(1_000))
        var returned: Delivered?
        queue.add(Delivery(1, batch(20), DeliveryTerms(), at: start), onCancel: {}) { returned = $0 }
        run(conversation(queue))
        queue.giveUp(.late)
        return try #require(returned).outcomes
    }

    /// Pushes 1 to 10 have counted as delivered before the gateway says this.
    @Test(arguments: [
        ([8, 8, 0, 0, 0, 3], 8), ([8, 10, 0, 0, 0, 3], 7), ([8, 8, 0, 0, 0, 11], 0), ([8, 8, 0, 0, 0, 0], 0),
        ([0, 0, 18, 4, 0, 0], 10),
    ])
    func `accepted pushes that a late error contradicts are counted`(bytes: [UInt8], count: Int) throws {
        let outcomes = try Self.outcomes { conversation in
            let later = Self.start + .seconds(4)
            conversation.passed(to: later)
            Self.send(10, by: conversation, at: later)
            conversation.received(bytes.span.bytes, at: later)
            #expect(conversation.refuted == count)
            _ = conversation.end(.closedByPeer)
        }
        #expect(outcomes.prefix(10).allSatisfy { $0 == .accepted })
    }

    @Test func `without barriers, a gateway that stays quiet gets more pushes at a time, up to the limit`() {
        var configuration = BinaryConfiguration()
        (configuration.firstWindow, configuration.window) = (2, 6)
        let wire = BinaryWire(configuration)
        wire.window.withLock { $0.ignoredBarrier() }
        let queue = DeliveryQueue(waitingTimeout: .seconds(1_000))
        queue.add(Delivery(1, batch(40), DeliveryTerms(), at: Self.start), onCancel: {}) { _ in }
        let conversation = BinaryConversation(of: wire, sending: queue, maximumAge: configuration.maximumAge)
        conversation.connected(at: Self.start)
        let sent = (0..<4).map { round in
            let now = Self.start + .seconds(4) * round
            conversation.passed(to: now)
            let free = conversation.room.free
            Self.send(free, by: conversation, at: now)
            return free
        }
        #expect(sent == [2, 4, 6, 6])
        // A window that was not full proves nothing about more.
        conversation.passed(to: Self.start + .seconds(20))
        Self.send(1, by: conversation, at: Self.start + .seconds(20))
        conversation.passed(to: Self.start + .seconds(24))
        #expect(wire.window.withLock { $0.count } == 6)
        _ = conversation.end(.closedByPeer)
        queue.giveUp(.late)
    }

    @Test func `a certificate that is refused at once has had nothing processed`() throws {
        let outcomes = try Self.outcomes { _ = $0.end(.refused("revoked")) }
        #expect(outcomes.allSatisfy { $0.verdict == .safe })
    }

    @Test func `a certificate that is refused late leaves it unknown what became of the last pushes`() throws {
        let outcomes = try Self.outcomes { conversation in
            let later = Self.start + .seconds(4)
            conversation.passed(to: later)
            Self.send(10, by: conversation, at: later)
            _ = conversation.end(.refused("revoked"))
        }
        #expect(outcomes.prefix(10).allSatisfy { $0 == .accepted })
        #expect(outcomes.dropFirst(10).allSatisfy { $0.verdict == .unknown })
    }
}

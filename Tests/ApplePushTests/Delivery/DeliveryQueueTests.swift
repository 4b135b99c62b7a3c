import CarillonIO
import Testing

@testable import ApplePush

/// Permits, early returns and waiting limits, by given times.
@Suite struct DeliveryQueueTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    /// Hands a queue with one delivery to the test, and returns what the delivery returned.
    private func deliver(
        _ count: Int,
        _ terms: DeliveryTerms = DeliveryTerms(),
        waitingTimeout: Duration = .seconds(3600),
        _ test: (DeliveryQueue) throws -> Void
    ) throws -> Delivered {
        let queue = DeliveryQueue(waitingTimeout: waitingTimeout)
        var returned: [Delivered] = []
        queue.add(Delivery(1, batch(count), terms, at: start), onCancel: {}) { returned.append($0) }
        try test(queue)
        #expect(returned.count == 1)
        return try #require(returned.first)
    }

    @Test func `pushes that wait when their permit ends are safe, and those in flight may be answered`() throws {
        let permit = SendingPermit(until: start + .seconds(5))
        let delivered = try deliver(3, DeliveryTerms(permit: permit)) { queue in
            let first = try #require(queue.next())
            #expect(queue.nextDue == start + .seconds(5))
            queue.passed(to: start + .seconds(4))
            #expect(queue.waiting == 2)
            queue.checkPermits(at: start + .seconds(5))
            #expect(queue.waiting == 0)
            #expect(queue.next() == nil)
            queue.end(first, .accepted)
            #expect(queue.isEmpty)
        }
        #expect(delivered.outcomes.map(\.verdict) == [.accepted, .safe, .safe])
        #expect(delivered.remainder == nil)
    }

    @Test func `an extended permit is checked again at its new end`() throws {
        let permit = SendingPermit(until: start + .seconds(5))
        let delivered = try deliver(1, DeliveryTerms(permit: permit)) { queue in
            permit.extend(until: start + .seconds(9))
            queue.passed(to: start + .seconds(5))
            #expect(queue.waiting == 1)
            #expect(queue.nextDue == start + .seconds(9))
            queue.passed(to: start + .seconds(9))
            #expect(queue.isEmpty)
            queue.passed(to: start + .seconds(10))
            #expect(queue.nextDue == .distantFuture)
        }
        #expect(delivered.outcomes.map(\.verdict) == [.safe])
    }

    @Test func `a push that comes back after the end of its permit is not sent again`() throws {
        let permit = SendingPermit(until: start + .seconds(5))
        let delivered = try deliver(2, DeliveryTerms(permit: permit)) { queue in
            let first = try #require(queue.next())
            let second = try #require(queue.next())
            #expect(queue.next() == nil)
            // With all pushes in flight the permit has no effect.
            queue.passed(to: start + .seconds(1))
            #expect(queue.nextDue == .distantFuture)
            queue.takeBack(second)
            #expect(queue.nextDue == start + .seconds(5))
            queue.checkPermits(at: start + .seconds(6))
            #expect(queue.next() == nil)
            queue.end(first, Outcome(.unknown))
        }
        #expect(delivered.outcomes.map(\.verdict) == [.unknown, .safe])
    }

    @Test func `an early return has the outcomes that there are, and the remainder the others`() async throws {
        let queue = Kept()
        let delivered = try deliver(3, DeliveryTerms(returnAfter: .seconds(1))) { deliveries in
            let pushes = try (0..<3).map { _ in try #require(deliveries.next()) }
            deliveries.end(pushes[1], .accepted)
            deliveries.passed(to: start + .milliseconds(999))
            #expect(deliveries.nextDue == start + .seconds(1))
            deliveries.passed(to: start + .seconds(1))
            #expect(deliveries.nextDue == .distantFuture)
            // The caller has the outcomes of that time.
            deliveries.end(pushes[0], Outcome(.unknown))
            queue.end = { deliveries.end(pushes[2], .accepted) }
        }
        #expect(delivered.outcomes.map(\.verdict) == [.pending, .accepted, .pending])
        let remainder = try #require(delivered.remainder)
        async let waiting = remainder.outcomes()
        queue.end()
        #expect(await waiting.map(\.verdict) == [.unknown, .accepted, .accepted])
        #expect(await remainder.outcomes().map(\.verdict) == [.unknown, .accepted, .accepted])
    }

    /// What is to be done later in a test.
    private final class Kept {
        var end: () -> Void = {}
    }

    @Test func `without any outcome, the delivery waits for another interval`() async throws {
        let delivered = try deliver(2, DeliveryTerms(returnAfter: .seconds(1))) { queue in
            let first = try #require(queue.next())
            queue.passed(to: start + .seconds(1))
            #expect(queue.nextDue == start + .seconds(2))
            queue.end(first, .accepted)
            queue.passed(to: start + .seconds(2))
            queue.giveUp(.late)
            #expect(queue.isEmpty)
        }
        #expect(delivered.outcomes.map(\.verdict) == [.accepted, .pending])
        let remainder = try #require(delivered.remainder)
        #expect(await remainder.outcomes().map(\.verdict) == [.accepted, .safe])
    }

    @Test func `an interval of zero is a short one`() throws {
        _ = try deliver(1, DeliveryTerms(returnAfter: .zero)) { queue in
            let push = try #require(queue.next())
            queue.passed(to: start + .milliseconds(1))
            #expect(queue.nextDue > start + .milliseconds(1))
            queue.end(push, .accepted)
        }
    }

    @Test func `the waiting limit runs from the last answer`() throws {
        let delivered = try deliver(3, waitingTimeout: .seconds(20)) { queue in
            let first = try #require(queue.next())
            queue.passed(to: start + .seconds(19))
            #expect(queue.nextDue == start + .seconds(20))
            queue.answered(at: start + .seconds(19))
            queue.end(first, .accepted)
            queue.passed(to: start + .seconds(38))
            #expect(queue.waiting == 2)
            #expect(queue.nextDue == start + .seconds(39))
            queue.passed(to: start + .seconds(39))
            #expect(queue.isEmpty)
        }
        #expect(delivered.outcomes.map(\.verdict) == [.accepted, .safe, .safe])
    }

    @Test func `a push that comes back after its delivery was cancelled is not sent again`() throws {
        let delivered = try deliver(3) { queue in
            let pushes = try (0..<3).map { _ in try #require(queue.next()) }
            queue.cancel(1)
            queue.takeBack(pushes[0])
            queue.takeBack(pushes[1], isRefused: true)
            #expect(queue.next() == nil)
            queue.end(pushes[2], .accepted)
            #expect(queue.isEmpty)
        }
        #expect(delivered.outcomes.map(\.verdict) == [.safe, .safe, .accepted])
        #expect(delivered.outcomes.withheld?.code == .cancelled)
    }

    @Test func `a push stays in the queue if there is no room for its body`() throws {
        let size = #"{"aps":{"alert":"Hello"}}"#.utf8.count
        _ = try deliver(2) { queue in
            #expect(queue.nextSize == size)
            #expect(queue.next(upTo: size - 1) == nil)
            #expect(queue.waiting == 2)
            queue.end(try #require(queue.next(upTo: size)), .accepted)
            queue.end(try #require(queue.next()), .accepted)
            #expect(queue.nextSize == nil)
        }
    }
}

extension DeliveryQueue {
    /// The next push, if its body has no more bytes than that.
    fileprivate func next(upTo limit: Int? = nil) -> QueuedPush? {
        let room = limit.map { BodyRoom(window: $0 + 1, waiting: 1) } ?? .unlimited
        return next(1, in: room).map { $0.push(at: $0.positions.lowerBound) }
    }
}

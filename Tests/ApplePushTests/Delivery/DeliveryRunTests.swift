import CarillonIO
import Testing

@testable import ApplePush

/// Which pushes a connection takes at once.
@Suite struct DeliveryRunTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    /// The runs that the queue hands out, by their positions; what is taken is delivered.
    private func runs(
        of batch: PushBatch,
        taking count: Int,
        in room: BodyRoom = .unlimited
    ) throws -> (runs: [Range<Int>], outcomes: Outcomes) {
        var runs: [Range<Int>] = []
        var outcomes: Outcomes?
        let queue = DeliveryQueue(waitingTimeout: .seconds(3600))
        queue.add(Delivery(1, batch, DeliveryTerms(), at: start), onCancel: {}) { outcomes = $0.outcomes }
        while let run = queue.next(count, in: room) {
            runs.append(run.positions)
            for position in run.positions { queue.end(run.push(at: position), .accepted) }
        }
        return (runs, try #require(outcomes))
    }

    @Test func `a run is no longer than asked for, and no longer than a quantum`() throws {
        #expect(try runs(of: batch(25), taking: 10).runs == [0..<10, 10..<20, 20..<25])
        let quanta = try runs(of: batch(100), taking: 1_000).runs
        #expect(quanta.map(\.count) == [32, 32, 32, 4])
    }

    @Test func `a run has one message, and skips malformed tokens`() throws {
        var batch = PushBatch()
        for (tokens, payload) in [(["a1", "b2"], "{}"), (["c3", "none", "d4"], #"{"aps":{}}"#)] {
            let heading = batch.addHeading(payload, topic: "org.example.app")
            for token in tokens { batch.addPush(token, heading: heading) }
        }
        let (runs, outcomes) = try self.runs(of: batch, taking: 100)
        #expect(runs == [0..<2, 2..<3, 4..<5])
        #expect(outcomes.map(\.verdict) == [.accepted, .accepted, .accepted, .rejected, .accepted])
    }

    @Test func `a run fits into the window`() throws {
        let size = #"{"aps":{"alert":"Hello"}}"#.utf8.count
        let room = BodyRoom(window: 3 * size + 10, waiting: 10)
        #expect(try runs(of: batch(7), taking: 100, in: room).runs == [0..<3, 3..<6, 6..<7])
    }

    @Test func `pushes that came back are sent again, one by one, before the others`() throws {
        var outcomes: Outcomes?
        let queue = DeliveryQueue(waitingTimeout: .seconds(3600))
        queue.add(Delivery(1, batch(6), DeliveryTerms(), at: start), onCancel: {}) { outcomes = $0.outcomes }
        let first = try #require(queue.next(4, in: .unlimited))
        for position in [1, 3] { queue.takeBack(first.push(at: position)) }
        for position in [0, 2] { queue.end(first.push(at: position), .accepted) }
        #expect(queue.waiting == 4)
        var runs: [Range<Int>] = []
        while let run = queue.next(4, in: .unlimited) {
            runs.append(run.positions)
            for position in run.positions { queue.end(run.push(at: position), .accepted) }
        }
        #expect(runs == [1..<2, 3..<4, 4..<6])
        #expect(outcomes?.allSatisfy { $0.verdict == .accepted } == true)
    }
}

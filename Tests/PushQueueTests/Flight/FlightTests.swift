import ApplePush
import CarillonIO
import CarillonPostgres
import CarillonText
import Testing

@testable import CarillonPushQueue

/// What a flight needs next, told what happened, without a database, a gateway or a clock.
@Suite struct FlightTests {
    /// A worker, one of its flights and the time.
    private struct FlightUnderTest {
        var state: WorkerState
        var flight: Flight
        var now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
        var notes: [Flight.Note] = []

        /// - Parameter app: The second one has a rate of 40 a second, and 3 background pushes an hour to a device.
        init(app: Int32 = 1) throws {
            var options = WorkerOptions()
            options.maxInFlight = 4800
            state = WorkerState(options, seed: 1, apps: try SimulatedApp.directory.get())
            state.reconnection.connected(at: now)
            state.lease.registered(as: 7, askedAt: now)
            let lane = Lane(app: app, number: 1)
            _ = state.apps.found([lane])
            _ = state.understood([lane], at: now)
            let next = state.nextClaim(at: now)
            let plan = try #require(next)
            flight = Flight(plan, claimedAs: 7)
        }

        /// Says in a word or two what it needs next.
        mutating func tell(_ event: Flight.Event) -> String {
            let step = flight.next(after: event, in: &state, at: now)
            notes += flight.takeNotes()
            if case .wait(let wait) = step { now = now + wait }
            return switch step {
            case .claim: "claim"
            case .ask(.order, _, let updates): "order \(updates.count)"
            case .ask(.pace(let max), _, let pushes): "pace \(pushes.count) at \(max)"
            case .takeTurn(let pushes, let route): "take a turn for \(pushes)" + (route == nil ? " nowhere" : "")
            case .wait: "wait"
            case .release: "release"
            case .deliver(let jobs, _): "deliver \(jobs.batch.count)"
            case .awaitRemainder: "await the remainder"
            case .write(let writing): "write \(Self.text(writing.next)) as settlement \(writing.settlementNumber)"
            case .writeCounts: "count"
            case .split(let message): "split \(message)"
            case .end: "end"
            }
        }

        private static func text(_ step: SettlementWriting.Step) -> String {
            switch step {
            case .settlement(let settlement): "\(settlement.settled.map { Int($0) })"
            case .unrecorded(let job): "what can be of \(job)"
            case .over: "nothing"
            }
        }

        mutating func delivered(_ verdicts: [Outcome], hasRemainder: Bool = false) -> String {
            tell(.delivered(Outcomes(verdicts), hasRemainder: hasRemainder))
        }

        /// Rows of one token each, and perhaps one behind them that does not fit.
        mutating func claimed(
            _ rows: Int,
            large: Int? = nil,
            areUpdates: Bool = false,
            arePaced: Bool = false
        ) -> String {
            let app = flight.app
            let jobs = (0..<rows).map {
                ModelJob(id: Int64($0 + 1), app: app, tokens: ["aa"], isUpdate: areUpdates, isPaced: arePaced)
            }
            let held = ModelClaim(id: 5, worker: 7, app: app, jobs: jobs, claimedAt: 0, isQuarantined: false)
            let next = large.map { ModelJob(id: 1000, tokens: (0..<$0).map { "b\($0)" }) }
            let lane = flight.plan.lane
            return tell(.claimed(ClaimRows(rows > 0 ? held : nil, next: next, lane: lane)))
        }

        var events: [WorkerEvent] {
            notes.compactMap { if case .happened(let event) = $0 { event } else { nil } }
        }

        var settled: Settlement.Tally {
            notes.reduce(into: Settlement.Tally()) { sum, item in
                if case .settled(let settlement, _) = item { sum += settlement.tally }
            }
        }
    }

    private let refused = PostgresError(.server, "violates a constraint", sqlState: "23514")
    private let short = PostgresError(.server, "out of memory", sqlState: "53200")
    private let gone = PostgresError(.closed, "the connection is gone", effect: .unknown)

    @Test func `a claim is sent and settled, and its flight ends`() throws {
        var trial = try FlightUnderTest()
        #expect(trial.claimed(2) == "deliver 2")
        #expect(trial.delivered([.accepted, .accepted]) == "write [0, 1] as settlement 0")
        #expect(trial.tell(.written(.written)) == "end")
        #expect(trial.settled.sent == 2)
        #expect(trial.state.schedule.isIdle && trial.state.schedule.inFlight == 0)
    }

    @Test func `a claim that is empty, or not made, ends its flight`() throws {
        for event in [
            Flight.Event.claimFailed(.connection), .claimFailed(.everything), .claimed(ClaimRows()), .abandoned,
        ] {
            var trial = try FlightUnderTest()
            #expect(trial.tell(event) == "end")
            #expect(trial.state.schedule.isIdle && trial.state.schedule.inFlight == 0)
        }
    }

    @Test func `the first part is settled early, and the rest when it has ended`() throws {
        var trial = try FlightUnderTest()
        _ = trial.claimed(3)
        #expect(
            trial.delivered([.accepted, .pending, .accepted], hasRemainder: true) == "write [0, 2] as settlement 0"
        )
        #expect(trial.tell(.written(.written)) == "await the remainder")
        #expect(trial.state.schedule.inFlight == 1)
        #expect(trial.delivered([.accepted, .accepted, .accepted]) == "write [1] as settlement 1")
        #expect(trial.tell(.written(.written)) == "end")
        #expect(trial.settled.sent == 3)
    }

    @Test func `a first part that PostgreSQL refuses is written with the rest`() throws {
        var trial = try FlightUnderTest()
        _ = trial.claimed(2)
        _ = trial.delivered([.accepted, .pending], hasRemainder: true)
        #expect(trial.tell(.failed(refused)) == "await the remainder")
        #expect(trial.delivered([.accepted, .accepted]) == "write [0, 1] as settlement 0")
    }

    @Test func `a settlement that PostgreSQL refuses is cut until the job at fault is alone`() throws {
        var trial = try FlightUnderTest()
        _ = trial.claimed(2)
        _ = trial.delivered([.accepted, .accepted])
        #expect(trial.tell(.failed(refused)) == "write [0] as settlement 0")
        #expect(trial.tell(.failed(refused)) == "wait")
        #expect(trial.tell(.waited) == "write [0] as settlement 0")
        for _ in 0..<2 { #expect(trial.tell(.failed(refused)) == "wait") }
        #expect(trial.tell(.waited) == "write what can be of 0 as settlement 0")
        #expect(trial.tell(.written(.written)) == "write [1] as settlement 1")
        #expect(trial.tell(.written(.written)) == "end")
        let unrecorded = WorkerEvent.unrecorded(
            app: "app 1",
            message: 1,
            error: "violates a constraint",
            isWritten: true
        )
        #expect(trial.events.first?.text == unrecorded.text)
    }

    @Test func `a settlement whose answer was lost is written again, and counts as written`() throws {
        var trial = try FlightUnderTest()
        _ = trial.claimed(1)
        _ = trial.delivered([.accepted])
        trial.state.reconnection.disconnected(at: trial.now, isOwnFault: false)
        #expect(trial.tell(.failed(gone)) == "write [0] as settlement 0")
        #expect(trial.tell(.written(.before)) == "end")
        #expect(trial.settled.sent == 1)
    }

    @Test func `a claim that was taken over is not counted, and its rest is not written`() throws {
        var trial = try FlightUnderTest()
        _ = trial.claimed(2)
        _ = trial.delivered([.accepted, .pending], hasRemainder: true)
        #expect(trial.tell(.written(.lost)) == "await the remainder")
        #expect(trial.delivered([.accepted, .accepted]) == "end")
        #expect(trial.settled == Settlement.Tally())
        #expect(trial.events.first?.text == WorkerEvent.stale(claim: 5).text)
        #expect(trial.state.schedule.inFlight == 0)
    }

    @Test func `jobs that may no longer be sent go back`() throws {
        var trial = try FlightUnderTest()
        _ = trial.state.drainRequested()
        #expect(trial.claimed(2) == "release")
        #expect(trial.tell(.failed(short)) == "wait")
        #expect(trial.tell(.waited) == "release")
        #expect(trial.tell(.released) == "end")
        #expect(trial.state.schedule.isIdle)
    }

    @Test func `a claim whose release PostgreSQL refuses three times keeps its row`() throws {
        var trial = try FlightUnderTest()
        _ = trial.state.drainRequested()
        _ = trial.claimed(1)
        for _ in 0..<2 {
            #expect(trial.tell(.failed(refused)) == "wait")
            #expect(trial.tell(.waited) == "release")
        }
        #expect(trial.tell(.failed(refused)) == "end")
    }

    @Test func `a claim with a rate waits for its turn, and takes another after a missed one`() throws {
        var trial = try FlightUnderTest(app: 2)
        #expect(trial.claimed(2) == "take a turn for 2")
        #expect(trial.tell(.turnGiven(.milliseconds(80))) == "wait")
        trial.now = trial.now + .milliseconds(200)
        #expect(trial.tell(.waited) == "take a turn for 2")
        #expect(trial.tell(.turnGiven(.zero)) == "deliver 2")
    }

    @Test func `of background pushes those are sent that are due, and the others have left the claim`() throws {
        var trial = try FlightUnderTest(app: 2)
        #expect(trial.claimed(4, arePaced: true) == "pace 4 at 3")
        #expect(trial.tell(.failed(short)) == "wait")
        #expect(trial.tell(.waited) == "pace 4 at 3")
        // One waits, one has ended, and so has one that waited before.
        let now = PushDecisions.Decision.send(stamp: nil)
        #expect(
            trial.tell(.decided(PushDecisions(decisions: [now, .later, now, .superseded], superseded: 2)))
                == "take a turn for 2"
        )
        let superseded = trial.notes.compactMap { if case .superseded(let pushes, _) = $0 { pushes } else { nil } }
        #expect(superseded == [2])
        #expect(trial.tell(.turnGiven(.zero)) == "deliver 2")
        #expect(trial.state.schedule.inFlight == 2)
        var all = try FlightUnderTest(app: 2)
        _ = all.claimed(1, arePaced: true)
        #expect(all.tell(.decided(PushDecisions(decisions: [.later], superseded: 0))) == "end")
        #expect(all.state.schedule.isIdle && all.state.schedule.inFlight == 0)
        var lost = try FlightUnderTest(app: 2)
        _ = lost.claimed(1, arePaced: true)
        #expect(lost.tell(.claimLost) == "end")
        // Without the option nothing is asked.
        var free = try FlightUnderTest()
        #expect(free.claimed(2, arePaced: true) == "deliver 2")
    }

    @Test func `a claim without a turn soon goes back, as does one of a worker that ends`() throws {
        for event in [Flight.Event.turnGiven(nil), .abandoned] {
            var trial = try FlightUnderTest(app: 2)
            _ = trial.claimed(2)
            #expect(trial.tell(event) == "release")
        }
        var trial = try FlightUnderTest(app: 2)
        _ = trial.claimed(2)
        _ = trial.state.drainRequested()
        #expect(trial.tell(.failed(short)) == "release")
    }

    @Test func `updates of Live Activities are ordered first, and those that are superseded are not sent`() throws {
        var trial = try FlightUnderTest()
        #expect(trial.claimed(3, areUpdates: true) == "order 3")
        #expect(trial.tell(.failed(short)) == "wait")
        #expect(trial.tell(.waited) == "order 3")
        #expect(
            trial.tell(.decided(PushDecisions(decisions: [.superseded, .send(stamp: 77), .superseded], superseded: 2)))
                == "deliver 1"
        )
        #expect(trial.state.schedule.inFlight == 1)
        #expect(trial.delivered([.accepted]) == "write [0] as settlement 0")
        #expect(trial.tell(.written(.written)) == "end")
        #expect(trial.settled.sent == 1)
        #expect(trial.state.schedule.isIdle && trial.state.schedule.inFlight == 0)
    }

    @Test func `a claim whose updates are all superseded, or that was taken over, ends`() throws {
        for answer in [PushDecisions(decisions: [.superseded, .superseded], superseded: 2), nil] {
            var trial = try FlightUnderTest(app: 2)
            _ = trial.claimed(2, areUpdates: true)
            #expect(trial.tell(Flight.Event(answer)) == "end")
            #expect(trial.state.schedule.isIdle && trial.state.schedule.inFlight == 0)
        }
    }

    @Test func `updates wait for a turn once they are ordered, and go back if the worker ends before`() throws {
        var trial = try FlightUnderTest(app: 2)
        _ = trial.claimed(3, areUpdates: true)
        #expect(
            trial.tell(
                .decided(PushDecisions(decisions: [.send(stamp: 1), .send(stamp: 2), .superseded], superseded: 1))
            )
                == "take a turn for 2"
        )
        var other = try FlightUnderTest()
        _ = other.claimed(3, areUpdates: true)
        _ = other.state.drainRequested()
        #expect(other.tell(.failed(gone)) == "release")
        var third = try FlightUnderTest()
        _ = third.claimed(3, areUpdates: true)
        #expect(third.tell(.abandoned) == "release")
    }

    @Test(
        arguments: [
            (app: 1, question: "order 2", sentence: "PostgreSQL cannot order the app's updates: "),
            (
                app: 2, question: "pace 2 at 3",
                sentence: "PostgreSQL cannot say which background pushes of the app are due: "
            ),
        ] as [(app: Int32, question: String, sentence: String)]
    )
    func `a claim about which PostgreSQL refuses a question three times goes back, and its app is held`(
        app: Int32,
        question: String,
        sentence: String
    ) throws {
        var trial = try FlightUnderTest(app: app)
        #expect(trial.claimed(2, areUpdates: app == 1, arePaced: app == 2) == question)
        for _ in 0..<2 {
            #expect(trial.tell(.failed(refused)) == "wait")
            #expect(trial.tell(.waited) == question)
        }
        #expect(trial.tell(.failed(short)) == "wait")
        #expect(trial.tell(.waited) == question)
        #expect(trial.tell(.failed(refused)) == "release")
        #expect(trial.tell(.released) == "end")
        let event = try #require(trial.events.last)
        #expect(
            event.kind == .held && event.message.hasPrefix(sentence) && event.message.contains("violates a constraint")
        )
        #expect(event.text.contains(#"{"app":"app \#(app)","kind":"database","#))
        #expect(trial.state.schedule.isIdle && trial.state.schedule.inFlight == 0)
    }

    @Test func `a claim whose turn PostgreSQL refuses three times goes back, and its app is held`() throws {
        var trial = try FlightUnderTest(app: 2)
        #expect(trial.claimed(2) == "take a turn for 2")
        for _ in 0..<2 {
            #expect(trial.tell(.failed(refused)) == "wait")
            #expect(trial.tell(.waited) == "take a turn for 2")
        }
        #expect(trial.tell(.failed(refused)) == "release")
        #expect(trial.tell(.released) == "end")
        let event = try #require(trial.events.last)
        #expect(event.kind == .held && event.message.hasPrefix("PostgreSQL cannot space out the app's pushes: "))
    }

    @Test func `errors of schema and rights are waited out, whatever the claim needs`() throws {
        let denied = PostgresError(.server, "permission denied", sqlState: "42501")
        func tries(_ trial: inout FlightUnderTest, _ step: String) {
            for _ in 0..<20 {
                #expect(trial.tell(.failed(denied)) == "wait")
                trial.now = trial.now + .seconds(2)
                #expect(trial.tell(.waited) == step)
            }
        }
        var trial = try FlightUnderTest()
        _ = trial.claimed(2, areUpdates: true)
        tries(&trial, "order 2")
        trial = try FlightUnderTest(app: 2)
        _ = trial.claimed(2)
        tries(&trial, "take a turn for 2")
        trial = try FlightUnderTest()
        _ = trial.claimed(2)
        _ = trial.delivered([.accepted, .accepted])
        tries(&trial, "write [0, 1] as settlement 0")
        trial = try FlightUnderTest()
        _ = trial.state.drainRequested()
        _ = trial.claimed(2)
        tries(&trial, "release")
    }

    @Test func `a row that is too large is split after the rest of its claim`() throws {
        var trial = try FlightUnderTest()
        #expect(trial.claimed(1, large: 1001) == "deliver 1")
        _ = trial.delivered([.accepted])
        #expect(trial.tell(.written(.written)) == "split 1000")
        #expect(trial.tell(.wasSplit(jobs: 3)) == "end")
        #expect(trial.events.last?.text == WorkerEvent.split(app: 1, message: 1000, jobs: 3).text)
    }

    @Test func `many bad tokens are counted at once`() throws {
        var trial = try FlightUnderTest()
        var earlier = Settlement.Tally()
        earlier.failed = 99
        earlier.badTokens = 99
        trial.state.unwrittenCounts.add(earlier, of: 1)
        _ = trial.claimed(1)
        _ = trial.delivered([Outcome(.rejected, status: 400, reason: .badDeviceToken)])
        #expect(trial.tell(.written(.written)) == "count")
        #expect(trial.tell(.counted) == "end")
    }

    @Test func `a worker that no longer waits leaves unwritten settlements`() throws {
        var trial = try FlightUnderTest()
        _ = trial.claimed(2)
        _ = trial.delivered([.accepted, .pending], hasRemainder: true)
        #expect(trial.tell(.abandoned) == "await the remainder")
        _ = trial.delivered([.accepted, .accepted])
        #expect(trial.tell(.abandoned) == "end")
        #expect(trial.settled == Settlement.Tally())
    }
}

extension WorkerEvent {
    /// All of it.
    fileprivate var text: String {
        "\(kind) \(level) \(message) " + JSONValue.object(fields.map { ($0, $1) }).text
    }
}

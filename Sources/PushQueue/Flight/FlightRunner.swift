import ApplePush
import CarillonIO
import CarillonPostgres

/// Does the steps of flights with the database and the backend.
final class FlightRunner {
    private let context: WorkerContext
    private let database: WorkerDatabase
    private let writer: AppWriter
    private let apps: AppWatch
    private let pushCounts: PushCountWriter

    init(_ context: WorkerContext, _ database: WorkerDatabase, _ apps: AppWatch, _ pushCounts: PushCountWriter) {
        self.context = context
        self.database = database
        writer = AppWriter(database)
        self.apps = apps
        self.pushCounts = pushCounts
    }

    /// - Parameter worker: Has the provider tokens that the deliveries use.
    func run(_ plan: ClaimPlan, for worker: Worker) async {
        var flight = Flight(plan, claimedAs: context.state.lease.id)
        var remainder: Remainder?
        // An app that waits for its turn may get another one meanwhile.
        var used: [Credential] = []
        var step = flight.first
        while true {
            if let credential = step.credential, used.last != credential { used.append(credential) }
            let event: Flight.Event
            switch step {
            case .deliver(let jobs, let route):
                let delivered = await deliver(jobs, by: route, for: worker)
                context.event { $0.schedule.learned(capacity: delivered.capacity, of: jobs.app) }
                remainder = delivered.remainder
                event = .delivered(delivered.outcomes, hasRemainder: remainder != nil)
            case .awaitRemainder:
                guard let pending = remainder.take() else { preconditionFailure("Nothing was left to wait for.") }
                event = .delivered(await pending.outcomes(), hasRemainder: false)
            case .end:
                for credential in used { await apps.flightEnded(using: credential, of: flight.app) }
                return
            default: event = await perform(step, of: flight, for: worker)
            }
            step = context.event { flight.next(after: event, in: &$0, at: .now) }
            publish(flight.takeNotes())
        }
    }

    /// A step that soon ends. Inlined, it would keep its memory for as long as the pushes are in flight.
    @inline(never)
    private func perform(_ step: Flight.Step, of flight: Flight, for worker: Worker) async -> Flight.Event {
        switch step {
        case .claim(let plan): return await claim(plan, as: flight.worker)
        case .takeTurn(let pushes, let route):
            // Connect first: pushes that waited for a connection would go out with those of the next turn.
            if let route {
                await context.backend.prepare(for: route.gateway, with: apps.supplied(route.credential, by: worker))
            }
            let parameters = FlightStatements.parameters(takingTurnFor: pushes, of: flight.app)
            return await write(for: flight, FlightStatements.takeTurn, parameters) {
                .turnGiven(try $0.int64IfPresent(0, 0).map { .microseconds($0) })
            }
        case .ask(.order, let jobs, let updates):
            let parameters = FlightStatements.parameters(ordering: updates, of: jobs, by: flight.worker)
            return await write(for: flight, FlightStatements.orderUpdates, parameters) {
                Flight.Event(try PushDecisions($0))
            }
        case .ask(.pace(let max), let jobs, let pushes):
            let parameters = FlightStatements.parameters(pacing: pushes, of: jobs, by: flight.worker, max: max)
            return await write(for: flight, FlightStatements.paceDevices, parameters) {
                Flight.Event(try PushDecisions($0))
            }
        case .wait(let duration): return await context.sleep(for: duration) ? .waited : .abandoned
        case .release(let jobs):
            let parameters = ClaimKey.parameters(releasing: [jobs.key], of: flight.worker)
            return await write(for: flight, ClaimKey.release, parameters) { _ in .released }
        case .write(let writing):
            let (statement, parameters) = writing.call
            let isLarge = writing.claim.jobs.count >= AppWriter.manyRows
            return await write(for: flight, statement, parameters, isLarge: isLarge) { .written(try SettleEffect($0)) }
        case .writeCounts: return await writeCounts()
        case .split(let message): return await split(message, of: flight.plan.lane)
        case .deliver, .awaitRemainder, .end: preconditionFailure("The gateway's steps are not done here.")
        }
    }

    private func publish(_ notes: [Flight.Note]) {
        for note in notes {
            switch note {
            case .claimed(let jobs, let waits):
                context.count { counters in
                    counters[.claims] += 1
                    counters[.jobs] += jobs
                    counters.waits += waits
                }
            case .superseded(let pushes, let app): context.count { $0.addSuperseded(pushes, of: app) }
            case .settled(let settlement, let app): context.count { $0.add(settlement, of: app) }
            case .happened(let event): context.log(event)
            }
        }
        let inFlight = context.state.schedule.inFlight
        context.count { $0[.inFlight] = inFlight }
        context.dispatchBell.ring()
    }

    private func claim(_ plan: ClaimPlan, as worker: Int64) async -> Flight.Event {
        let isLarge = plan.depth == .deep
        if isLarge { await writer.waitForLarge() }
        defer { if isLarge { writer.largeEnded() } }
        // Since the claim was planned, the connection may have been lost.
        guard let connection = database.shared else { return .claimFailed(.connection) }
        let app = context.state.apps[plan.lane.app]
        let installation = context.state.lease.installation
        let parameters = ClaimStatement.parameters(
            plan,
            worker: worker,
            maxBytes: context.options.maxBytes,
            collapseUnknown: app?.row.settings.collapseUnknown ?? false
        )
        do throws(PostgresError) {
            return .claimed(
                try await database.ask(connection, ClaimStatement.statement, parameters) { rows in
                    try ClaimRows(rows, plan, app: app, installation: installation)
                }
            )
        } catch {
            database.failed(error, on: connection, isPaced: true)
            return .claimFailed(ClaimFault(error))
        }
    }

    private func write(
        for flight: Flight,
        _ statement: Statement,
        _ parameters: Parameters,
        isLarge: Bool = false,
        _ event: @Sendable (borrowing Rows) throws -> Flight.Event
    ) async -> Flight.Event {
        let (app, timedOut) = (flight.app, flight.timedOut)
        do throws(PostgresError) {
            return try await writer.write(for: app, statement, parameters, isLarge: isLarge, timedOut: timedOut, event)
                ?? .abandoned
        } catch {
            return .failed(error)
        }
    }

    private func deliver(_ jobs: ClaimedJobs, by route: App.Route, for worker: Worker) async -> Delivered {
        await context.backend.deliver(
            jobs.batch,
            to: route.gateway,
            with: apps.supplied(route.credential, by: worker),
            terms: DeliveryTerms(returnAfter: context.options.settleAfter, permit: context.state.lease.permit)
        )
    }

    private func writeCounts() async -> Flight.Event {
        guard let connection = database.shared else { return .counted }
        do throws(PostgresError) {
            try await pushCounts.write(on: connection)
        } catch {
            database.failed(error, on: connection)
        }
        return .counted
    }

    private func split(_ message: Int64, of lane: Lane) async -> Flight.Event {
        var jobs: Int64?
        let fault = await database.withOwnConnection(for: .split) { connection throws(PostgresError) in
            let size = context.state.schedule.jobSize(at: context.state.apps.maxRate(of: lane.app))
            let parameters = FlightStatements.parameters(splitting: message, of: lane, size: size)
            do throws(PostgresError) {
                jobs = try await database.ask(connection, FlightStatements.split, parameters) { try $0.int64(0, 0) }
            } catch {
                guard error.isTooLarge else { throw error }
                // A row that cannot be read can never be sent.
                let parameters = FlightStatements.parameters(discarding: message, of: lane)
                try await connection.execute(FlightStatements.discard, parameters)
                jobs = 0
                database.logError(error)
            }
        }
        if let fault { context.event { $0.refusals.failed(fault, at: .now) } }
        return .wasSplit(jobs: jobs.map { Int($0) })
    }
}

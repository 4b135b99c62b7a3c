import ApplePush
import IO
import Postgres

/// Which claims to make.
extension Worker {
    /// So many claims may wait for their answers: one is being worked on, the others keep the connection busy.
    private static let mostAsked = 3
    /// The pushes with which an app that was in trouble tries again.
    private static let trial = 10

    func nextClaim() -> ClaimPlan? {
        let now = MonotonicInstant.now
        guard self.phase == .working, self.asked < Self.mostAsked, self.connection != nil, self.lease.holds(at: now),
            let plan = self.board.next(at: now, allowance: { self.allowance(of: $0.app, at: now) })
        else { return nil }
        self.admission.admit(Int(plan.pushes), of: plan.lane.app)
        self.rates.spend(Int(plan.pushes), of: plan.lane.app)
        self.asked += 1
        return plan
    }

    private func allowance(of id: Int32, at now: MonotonicInstant) -> LaneBoard.Allowance {
        switch self.apps[id] {
        case .unread: return .nothing
        case .absent: return .pushes(room: self.admission.room(for: id))
        case .known(let app):
            guard !app.isPaused, case .success = app.route, !self.holds.isHeld(id, at: now) else { return .nothing }
            var most = Int.max
            if let rate = app.mostRate {
                most = self.rates.available(to: id, rate: rate, workers: self.workersAlive, at: now)
            }
            if self.holds.isOnTrial(id) {
                guard self.admission.inFlight(of: id) == 0 else { return .nothing }
                most = min(most, Self.trial)
            }
            return .pushes(room: self.admission.room(for: id), most: most)
        }
    }

    /// Whether the lane's rows are for now, as far as anybody can tell.
    private func isClaimable(_ lane: Lane) -> Bool {
        switch self.apps[lane.app] {
        case .unread, .absent: return true
        case .known(let app):
            guard case .success = app.route else { return false }
            return !app.isPaused && !self.holds.isOnTrial(lane.app)
        }
    }

    // MARK: Looking

    /// Finds lanes that have rows, again and again, and moves to the queue what has become due.
    func lookForWork() async {
        var pace = PollingPace()
        await self.takeOver()
        while !Task.isCancelled, let connection = await self.database() {
            let start = MonotonicInstant.now
            let isIdle = self.flights.isEmpty && self.asked == 0
            if isIdle, self.options.once { self.board.forgetFloors() }
            var wait = Duration.milliseconds(100)
            do throws(PostgresError) {
                let promoted = try await self.promote(on: connection)
                let lanes = try await self.look(on: connection)
                let cost = MonotonicInstant.now - start
                if lanes.contains(where: self.isClaimable) || promoted > 0 {
                    wait = pace.foundWork(after: cost, isBusy: self.admission.inFlight > 0)
                } else {
                    wait = pace.foundNothing(after: cost, using: &self.random)
                    if isIdle, self.options.once, self.flights.isEmpty, self.asked == 0 { self.hasDrained = true }
                }
            } catch {
                self.failed(error, on: connection)
            }
            self.dispatchBell.ring()
            try? await self.loop.sleep(for: wait)
        }
    }

    private func promote(on connection: PostgresConnection) async throws(PostgresError) -> Int {
        guard self.phase == .working else { return 0 }
        var parameters = Parameters()
        parameters.append(Int32(1000))
        let moved = try await self.ask(connection, WorkerStatements.promote, parameters) { rows in
            try rows.indices.map { row in
                let lane = Lane(app: try rows.int32(row, 0), number: try rows.int16(row, 1))
                return (lane: lane, lowest: try rows.int64(row, 2), count: try rows.int64(row, 3))
            }
        }
        for rows in moved { self.board.returned(to: rows.lane, lowest: rows.lowest, at: .now) }
        return moved.reduce(0) { $0 + Int($1.count) }
    }

    private func look(on connection: PostgresConnection) async throws(PostgresError) -> [Lane] {
        var apps = PostgresArray(of: .int4)
        var numbers = PostgresArray(of: .int2)
        var floors = PostgresArray(of: .int8)
        // The walk begins before the first lane there could be.
        apps.append(Int32.min)
        numbers.append(Int16.min)
        floors.append(Int64.max)
        for floor in self.board.floors {
            apps.append(floor.lane.app)
            numbers.append(floor.lane.number)
            floors.append(floor.id)
        }
        var parameters = Parameters()
        parameters.append(apps)
        parameters.append(numbers)
        parameters.append(floors)
        let lanes = try await self.ask(connection, WorkerStatements.look, parameters) { rows in
            try rows.indices.map { Lane(app: try rows.int32($0, 0), number: try rows.int16($0, 1)) }
        }
        self.apps.forgetAbsent()
        let unread = Set(lanes.map(\.app)).filter { if case .unread = self.apps[$0] { true } else { false } }
        if !unread.isEmpty { try await self.readApps(Array(unread), on: connection) }
        let now = MonotonicInstant.now
        self.board.found(lanes, at: now)
        self.board.forgetIdle(at: now)
        await self.reportUnusable(lanes)
        return lanes
    }
}

import ApplePush
import CarillonIO
import CarillonPostgres
import Testing

@testable import CarillonPushQueue

/// Claims and splits that PostgreSQL refuses.
extension WorkerStateTests {
    /// The claims of a worker that looks every 10 ms and finds rows in all of these lanes, with their times.
    /// - Parameter fault: Why the claim fails, or nil if it has a row.
    private func claims(
        _ state: inout WorkerState,
        from lanes: [Lane],
        since beginning: Duration = .zero,
        for seconds: Int,
        _ fault: (Lane, Duration) -> ClaimFault?
    ) throws -> [(lane: Lane, time: Duration)] {
        var claims: [(lane: Lane, time: Duration)] = []
        for tick in 0..<seconds * 100 {
            let time = beginning + .milliseconds(tick * 10)
            let now = self.now + time
            if tick % 100 == 0 { state.renewed(workersAlive: 1, askedAt: now) }
            _ = state.understood(lanes, at: now)
            while let plan = state.nextClaim(at: now) {
                claims.append((plan.lane, time))
                if let fault = fault(plan.lane, time) {
                    state.claimFailed(plan, fault, at: now)
                    continue
                }
                let answer = self.answer(to: plan, rows: plan.rows > 1 ? 1 : 0, claim: Int64(claims.count))
                _ = state.claimReturned(answer, to: plan, at: now)
                guard let jobs = answer.jobs else { continue }
                state.schedule.stoppedWaiting(plan.lane.app)
                state.claimEnded(UnsettledClaim(jobs, claimedAs: 7, returnedAt: now))
            }
        }
        return claims
    }

    @Test(arguments: [ClaimFault.everything, .lane, .size])
    func `a refused claim is repeated at growing intervals of up to two seconds, until one succeeds`(fault: ClaimFault)
        throws
    {
        var state = try begin(with: [first])
        let times = try claims(&state, from: [first], for: 20) { _, _ in fault }.map(\.time)
        let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
        #expect(times.count <= 25)
        let shortest = try #require(gaps.first)
        #expect(shortest <= .milliseconds(180))
        #expect(gaps.allSatisfy { $0 <= .milliseconds(2200) })
        #expect(gaps.suffix(5).allSatisfy { $0 >= .seconds(1) })
        let later = try claims(&state, from: [first], since: .seconds(20), for: 5) { _, time in
            time < .seconds(23) ? nil : fault
        }
        .map(\.time)
        #expect(later.count { $0 < .seconds(23) } > 50)
        #expect(later.count { $0 >= .seconds(23) } >= 4, "it begins with short intervals again")
    }

    @Test(arguments: [ClaimFault.everything, .lane, .size])
    func `while claims of one app are refused, another is served`(fault: ClaimFault) throws {
        var state = try begin(with: [first, second])
        let claims = try self.claims(&state, from: [first, second], for: 10) { lane, _ in lane == first ? fault : nil }
        #expect(claims.count { $0.lane == first } <= 20)
        #expect(claims.count { $0.lane == second } > 500)
    }

    @Test(arguments: [ClaimFault.everything, .lane, .size])
    func `after a refused claim other lanes wait too, if the error says nothing of the lane`(fault: ClaimFault) throws {
        var state = try begin(with: [first, second])
        let refused = try plan(&state, at: now)
        let other = refused.lane == first ? second : first
        state.claimFailed(refused, fault, at: now)
        guard fault == .everything else {
            let next = try plan(&state, at: now)
            #expect(next.lane == other)
            return
        }
        // The first wait is 50 to 100 ms long.
        for wait in [Duration.zero, .milliseconds(49)] {
            let early = state.nextClaim(at: now + wait)
            #expect(early == nil, "after \(wait)")
        }
        let later = now + .milliseconds(100)
        let tries = plans(&state, at: later)
        #expect(tries.count == 1, "one claim at a time shows whether they succeed again")
        let claim = try #require(tries.first)
        _ = state.claimReturned(answer(to: claim, rows: 1), to: claim, at: later)
        let next = state.nextClaim(at: later)
        #expect(next != nil)
    }

    @Test func `of many refused lanes at most 20 a second are tried, and the lane of another app is served`() throws {
        var state = try begin()
        let lanes = (0..<40).map { Lane(app: 1, number: Int16($0)) }
        let claims = try self.claims(&state, from: lanes, for: 3) { _, _ in .lane }
        for second in 0..<3 {
            #expect(claims.count { $0.time >= .seconds(second) && $0.time < .seconds(second + 1) } <= 20)
        }
        _ = state.apps.found([second])
        let more = try self.claims(&state, from: lanes + [second], since: .seconds(3), for: 3) { lane, _ in
            lane == second ? nil : .lane
        }
        #expect(more.count { $0.lane == second } > 100)
        #expect(more.count { $0.lane != second } <= 60)
    }

    @Test func `after a refused settlement a lane is claimed from once its claim ends or a try is written`() throws {
        var state = try begin(with: [first])
        var claims: [UnsettledClaim] = []
        for number in 1...2 {
            state.schedule.found([first], of: state.apps, at: now)
            let plan = try plan(&state, at: now)
            let answer = self.answer(to: plan, rows: 1, claim: Int64(number))
            _ = state.claimReturned(answer, to: plan, at: now)
            claims.append(UnsettledClaim(try #require(answer.jobs), claimedAs: state.lease.id, returnedAt: now))
        }
        state.refusals.settlementRefused(of: 1, wasTry: false, at: now)
        func isClaimed() -> Bool {
            state.schedule.found([first], of: state.apps, at: now)
            return state.nextClaim(at: now) != nil
        }
        for claim in claims {
            #expect(!isClaimed())
            _ = end(claim, .accepted, in: &state, at: now)
        }
        _ = try claim(&state, at: now, rows: 1)
        #expect(!isClaimed())
        state.triedSettlementWritten(of: 1)
        #expect(isClaimed())
    }

    @Test func `a claim that cannot be settled does not delay others of its lane`() throws {
        var state = try begin(with: [first])
        var stuck = try claim(&state, at: now, rows: 1)
        state.refusals.settlementRefused(of: 1, wasTry: false, at: now)
        state.schedule.found([first], of: state.apps, at: now)
        #expect(state.nextClaim(at: now) == nil)
        for _ in 0..<2 { state.stuck(&stuck) }
        let other = try claim(&state, at: now, rows: 1)
        state.schedule.found([first], of: state.apps, at: now)
        #expect(state.nextClaim(at: now) == nil)
        _ = end(stuck, .accepted, in: &state, at: now)
        #expect(state.nextClaim(at: now) == nil)
        _ = end(other, .accepted, in: &state, at: now)
        #expect(state.nextClaim(at: now) != nil)
    }

    @Test func `the lane of a row that cannot be split is claimed from less and less often`() throws {
        var state = try begin(with: [first])
        var claims = 0
        for tick in 0..<1000 {
            let now = self.now + .milliseconds(tick * 10)
            if tick % 100 == 0 { state.renewed(workersAlive: 1, askedAt: now) }
            _ = state.understood([first], at: now)
            while let plan = state.nextClaim(at: now) {
                claims += 1
                let answer = self.answer(to: plan, rows: 0, more: 2000)
                let large = state.claimReturned(answer, to: plan, at: now)
                #expect(large == 1000)
                state.refusals.splitFailed(in: first, at: now)
            }
        }
        #expect((4...20).contains(claims))
    }

    @Test func `counts that cannot be written are no longer written after each settlement`() {
        var unwritten = UnwrittenCounts()
        var bad = Settlement.Tally()
        bad.failed = 100
        bad.badTokens = 100
        unwritten.add(bad, of: 1)
        #expect(unwritten.isSuspect(1))
        let counts = unwritten.take()
        unwritten.failed(counts, .nothingDone)
        #expect(!unwritten.isSuspect(1))
        unwritten.written()
        #expect(unwritten.isSuspect(1))
    }

    @Test func `notes wait when an error says nothing of them, and one that is refused is not written again`() throws {
        var unwritten = WorkerNotes()
        let ids = 1...3 as ClosedRange<Int32>
        func notes() -> ArraySlice<WorkerNotes.Note> {
            for id in ids { unwritten.add(.hold(app: id, nil)) }
            return ArraySlice(unwritten.take())
        }
        let failed = notes()
        let denied = PostgresError(.server, "denied", sqlState: "42501")
        let left = unwritten.failed(failed, with: denied, mayTryNext: false)
        #expect(left.isEmpty)
        #expect(unwritten.take().count == 3)
        for (state, kept) in [("23514", 0), ("55P03", 1)] {
            let failed = notes()
            let error = PostgresError(.server, "no", sqlState: state)
            let left = unwritten.failed(failed, with: error, mayTryNext: true)
            #expect(left.count == 2)
            #expect(unwritten.take().count == kept)
            let many = unwritten.failed(notes(), with: error, mayTryNext: false)
            #expect(many.isEmpty)
            #expect(unwritten.take().count == 2 + kept)
        }
    }

    @Test func `strays are released one after the other, but for an error that says nothing of them`() throws {
        var state = try begin()
        let refused = PostgresError(.server, "no", sqlState: "P0001")
        let goOn = (0..<10).map { _ in state.refusals.mayTryNext(after: refused, at: now) }
        #expect(goOn == [true, true, true] + Array(repeating: false, count: 7))
        let denied = PostgresError(.server, "no", sqlState: "42501")
        let goesOn = state.refusals.mayTryNext(after: denied, at: now + .seconds(5))
        #expect(!goesOn)
    }
}

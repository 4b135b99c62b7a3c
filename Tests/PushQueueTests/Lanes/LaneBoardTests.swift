import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct LaneBoardTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000)
    private let room = LaneBoard.Allowance.pushes(room: 10000)

    /// The next claim if each lane may have the same.
    private func next(
        _ board: inout LaneBoard,
        at now: MonotonicInstant? = nil,
        _ allowance: LaneBoard.Allowance = .pushes(room: 10000)
    ) -> ClaimPlan? {
        var asked = 0
        return next(&board, at: now, counting: &asked) { _ in allowance }
    }

    /// The next claim, and how many lanes were asked for it.
    private func next(
        _ board: inout LaneBoard,
        at now: MonotonicInstant? = nil,
        counting asked: inout Int,
        _ allowance: (Lane) -> LaneBoard.Allowance
    ) -> ClaimPlan? {
        board.next(in: ClaimSlots(), at: now ?? start) { lane in
            asked += 1
            return allowance(lane)
        }
    }

    /// The next claim, which must be there.
    private func claim(
        _ board: inout LaneBoard,
        at now: MonotonicInstant? = nil,
        _ allowance: LaneBoard.Allowance = .pushes(room: 10000),
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> ClaimPlan {
        let plan = next(&board, at: now, allowance)
        return try #require(plan, sourceLocation: sourceLocation)
    }

    private func expectNone(
        _ board: inout LaneBoard,
        at now: MonotonicInstant? = nil,
        _ allowance: LaneBoard.Allowance = .pushes(room: 10000),
        because reason: Comment? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let plan = next(&board, at: now, allowance)
        #expect(plan == nil, reason, sourceLocation: sourceLocation)
    }

    private func lane(_ app: Int32, _ number: Int16 = 1) -> Lane { Lane(app: app, number: number) }

    /// Claims from lanes that never run dry, and counts the pushes of each.
    private func claims(_ board: inout LaneBoard, _ count: Int) -> [Lane: Int] {
        var shares: [Lane: Int] = [:]
        for _ in 0..<count {
            guard let plan = next(&board) else { break }
            shares[plan.lane, default: 0] += Int(plan.pushes)
            board.claimed(plan, rows: Int(plan.rows), pushes: Int(plan.pushes), lowest: 1, next: nil, at: start)
        }
        return shares
    }

    @Test func `a lane without rows is not claimed from`() {
        var board = LaneBoard(quantum: 100)
        expectNone(&board)
    }

    @Test func `a claim that was too large is halved, and the one after a success is twice as large`() throws {
        var board = LaneBoard(quantum: 1000)
        board.found([lane(1)], at: start)
        var rows: [Int32] = []
        for _ in 0..<7 {
            let plan = try claim(&board)
            rows.append(plan.rows)
            board.abandoned(plan, wasTooLarge: true)
        }
        #expect(rows == [62, 31, 15, 7, 3, 1, 1])
        let plan = try claim(&board)
        board.claimed(plan, rows: 1, pushes: 1, lowest: 1, next: 1, at: start)
        let more = next(&board)
        #expect(more?.rows == 2)
    }

    @Test func `the first claim of a lane is small`() throws {
        var board = LaneBoard(quantum: 800)
        board.found([lane(1)], at: start)
        let first = try claim(&board)
        let little = 800 / LaneState.caution
        #expect(first.pushes == Int32(little))
        expectNone(&board, because: "one claim at a time")
        board.claimed(first, rows: Int(first.rows), pushes: little, lowest: 1, next: nil, at: start)
        let second = try claim(&board)
        #expect(second.pushes > first.pushes)
        board.claimed(second, rows: 3, pushes: 3, lowest: 101, next: nil, at: start)
        expectNone(&board, because: "it had less than was asked for")
    }

    @Test func `an app with rows in many lanes uses a part of them at a time, and the next look brings others`() {
        var board = LaneBoard(quantum: 100)
        let most = LaneBoard.maxLanesOfOneApp
        let many = (0..<Int16(most + 100)).map { lane(1, $0 + 3) }
        func found() { board.found(many + [lane(1, 0), lane(2, 7)], at: start) }
        func served() -> Set<Lane> {
            var lanes: Set<Lane> = []
            while let plan = next(&board) {
                #expect(lanes.insert(plan.lane).inserted)
                board.claimed(plan, rows: 0, pushes: 0, lowest: nil, next: nil, at: start)
            }
            return lanes
        }
        found()
        found()
        #expect(board.hasLeftLanes)
        let first = served()
        #expect(first.filter { $0.app == 1 && $0.number >= 3 }.count == most)
        // The other app waits for nobody, nor do the lanes that people use.
        #expect(first.contains(lane(1, 0)) && first.contains(lane(2, 7)))
        #expect(first.count == most + 2)
        // So do promoted jobs.
        board.promoted(many.map { ($0, 5) }, at: start) { _ in true }
        #expect(served().count == most)
        // What was served is empty now.
        board.found(many.filter { !first.contains($0) }, at: start)
        #expect(!board.hasLeftLanes)
        #expect(served().count == 100)
    }

    @Test func `of the lanes of apps that do not exist, a part is used at a time`() {
        var board = LaneBoard(quantum: 100)
        let most = LaneBoard.maxLanesOfOneApp
        board.found((1...Int32(most * 3)).map { lane($0, 0) } + [lane(-1)], at: start) { $0 == -1 }
        var lanes: Set<Lane> = []
        while let plan = next(&board) {
            lanes.insert(plan.lane)
            board.claimed(plan, rows: 0, pushes: 0, lowest: nil, next: nil, at: start)
        }
        #expect(lanes.count == most + 1 && lanes.contains(lane(-1)))
    }

    @Test func `a lane with rows again and again does not wait for ten thousand new ones`() throws {
        var board = LaneBoard(quantum: 100)
        func serve() throws -> Lane {
            let plan = try claim(&board)
            board.claimed(plan, rows: 1, pushes: 1, lowest: 1, next: nil, at: start)
            return plan.lane
        }
        board.found([lane(1)], at: start)
        #expect(try serve() == lane(1))
        board.found((2...10001).map { lane($0) }, at: start)
        var served: Set<Lane> = []
        for _ in 0..<10000 {
            board.found([lane(1)], at: start)
            let lanes = [try serve(), try serve()]
            #expect(lanes.filter { $0 == lane(1) }.count == 1)
            served.formUnion(lanes)
        }
        #expect(served.count == 10001)
    }

    @Test func `a lane that keeps having rows for whole claims takes turns with all others`() throws {
        var board = LaneBoard(quantum: 100)
        board.found([lane(1)], at: start)
        let plan = try claim(&board)
        board.claimed(plan, rows: 1, pushes: 1, lowest: 1, next: nil, at: start)
        board.found((1...100).map { lane($0) }, at: start)
        let shares = claims(&board, 3000)
        let others = shares.filter { $0.key != lane(1) }.values
        #expect(shares.count == 100)
        #expect(shares[lane(1)] ?? .max <= (others.min() ?? 0) + 300)
    }

    @Test func `a look walks over a part of the known lanes, and asks others that often have rows`() throws {
        var board = LaneBoard(quantum: 100)
        board.found((1...10).map { lane($0) }, at: start)
        while let plan = next(&board) {
            // So that the floors rise.
            board.claimed(plan, rows: 5000, pushes: 5000, lowest: 1, next: nil, at: start)
        }
        board.found([lane(2), lane(9)], at: start)
        while let plan = next(&board) {
            board.claimed(plan, rows: 5000, pushes: 5000, lowest: 5001, next: nil, at: start + .seconds(5))
        }
        let all = board.lookRange(after: nil, turn: nil, maxSteps: nil)
        #expect(all.others.isEmpty && !all.endsAtKnown && all.start == nil)
        #expect(all.known.map(\.lane) == [lane(2), lane(9)])
        let first = board.lookRange(after: nil, turn: nil, maxSteps: 1)
        #expect(first.known.map(\.lane) == [lane(2)] && first.endsAtKnown && first.others.isEmpty)
        let second = board.lookRange(after: lane(2), turn: 1, maxSteps: 1)
        #expect(second.known.map(\.lane) == [lane(9)] && !second.endsAtKnown && second.others.map(\.lane) == [lane(2)])
    }

    @Test func `of many lanes that often have rows, each look asks a part, and all have their turn`() {
        var board = LaneBoard(quantum: 100)
        let lanes = (1...100).map { lane($0) }
        for _ in 0..<2 {
            board.found(lanes, at: start)
            while let plan = next(&board) {
                board.claimed(plan, rows: 1, pushes: 1, lowest: 1, next: nil, at: start)
            }
        }
        var asked: Set<Lane> = []
        for turn in 0..<20 {
            let others = board.lookRange(after: nil, turn: turn, maxSteps: 10).others.map(\.lane)
            #expect(others.count <= 10)
            asked.formUnion(others)
        }
        #expect(asked == Set(lanes))
    }

    @Test func `a lane that often has rows is asked while a claim is under way, not while it waits for one`() throws {
        var board = LaneBoard(quantum: 100)
        for _ in 0..<2 {
            board.found([lane(1)], at: start)
            let plan = try claim(&board)
            board.claimed(plan, rows: 1, pushes: 1, lowest: 1, next: nil, at: start)
        }
        func asked() -> [Lane] { board.lookRange(after: lane(5), turn: 1, maxSteps: 10).others.map(\.lane) }
        #expect(asked() == [lane(1)])
        board.found([lane(1)], at: start)
        #expect(asked().isEmpty)
        _ = try claim(&board)
        #expect(asked() == [lane(1)])
    }

    @Test func `apps get equal shares`() {
        var board = LaneBoard(quantum: 100)
        board.found([lane(1), lane(2), lane(3)], at: start)
        let shares = claims(&board, 300)
        let least = shares.values.min() ?? 0
        let most = shares.values.max() ?? 0
        #expect(shares.count == 3)
        #expect(most - least <= 200)
    }

    @Test func `urgent lanes go first, and bulk lanes have a share`() {
        var board = LaneBoard(quantum: 100)
        board.found([lane(1, 0), lane(1, 1), lane(1, 2)], at: start)
        let first = next(&board)
        #expect(first?.lane.urgency == .urgent)
        var busy = LaneBoard(quantum: 100)
        busy.found([lane(1, 0), lane(1, 1), lane(1, 2)], at: start)
        let shares = claims(&busy, 2100)
        let bulk = shares[lane(1, 2)] ?? 0
        let urgent = shares[lane(1, 0)] ?? 0
        #expect(bulk >= 9000)
        #expect(urgent > 10 * bulk)
    }

    @Test func `a blocked app does not delay others, and is claimed from when it is freed`() throws {
        var board = LaneBoard(quantum: 100)
        board.found([lane(1), lane(2)], at: start)
        var asked = 0
        let first = next(&board, counting: &asked) { $0.app == 1 ? .blocked(until: nil) : room }
        #expect(first?.lane.app == 2)
        let none = next(&board, at: start + .seconds(3600), counting: &asked) { _ in room }
        #expect(none == nil)
        board.freed(1)
        let second = next(&board)
        #expect(second?.lane.app == 1)
    }

    @Test func `an app that is blocked until an instant is claimed from then`() throws {
        var board = LaneBoard(quantum: 100)
        board.found([lane(1), lane(1, 0)], at: start)
        let end = start + .seconds(2)
        expectNone(&board, .blocked(until: end))
        expectNone(&board, at: start + .milliseconds(1999))
        let lanes = [next(&board, at: end), next(&board, at: end)].compactMap { $0?.lane.number }
        #expect(lanes.sorted() == [0, 1])
    }

    @Test(arguments: [nil, 5] as [Int?])
    func `a lane that is blocked longer does not delay another of its app`(seconds: Int?) throws {
        var board = LaneBoard(quantum: 100)
        board.found([lane(1), lane(1, 0)], at: start)
        let end = start + .seconds(2)
        func allowance(_ lane: Lane) -> LaneBoard.Allowance {
            .blocked(until: lane.number == 1 ? end : seconds.map { start + .seconds($0) })
        }
        for order in [[lane(1), lane(1, 0)], [lane(1, 0), lane(1)]] {
            board.freed(1)
            board.found(order, at: start)
            var asked = 0
            let none = next(&board, counting: &asked, allowance)
            #expect(none == nil && asked == 2)
        }
        var asked = 0
        let early = next(&board, at: end + .nanoseconds(-1), counting: &asked) { _ in room }
        let onTime = next(&board, at: end, counting: &asked) { $0.number == 1 ? room : .blocked(until: nil) }
        #expect(early == nil && onTime?.lane.number == 1)
    }

    @Test func `ten thousand blocked apps are asked once, however often a claim is planned`() {
        var board = LaneBoard(quantum: 100)
        let lanes = (1...10000).map { lane($0) }
        var asked = 0
        for _ in 0..<100 {
            board.found(lanes, at: start)
            let none = next(&board, counting: &asked) { .blocked(until: $0.app % 2 == 0 ? .distantFuture : nil) }
            #expect(none == nil)
        }
        #expect(asked == 10000)
    }

    @Test func `a row that did not fit is claimed when there is room`() throws {
        var board = LaneBoard(quantum: 100)
        board.found([lane(1)], at: start)
        let first = try claim(&board)
        board.claimed(first, rows: 0, pushes: 0, lowest: nil, next: 700, at: start)
        expectNone(&board, .pushes(room: 699))
        let second = try claim(&board, .pushes(room: 700))
        #expect(second.pushes == 700)
    }

    @Test func `claims of rows with many pushes have fewer rows`() throws {
        var board = LaneBoard(quantum: 1000)
        board.found([lane(1)], at: start)
        let first = try claim(&board)
        board.claimed(first, rows: 1, pushes: 100, lowest: 1, next: 100, at: start)
        let second = try claim(&board)
        #expect(second.rows <= 10)
    }

    @Test func `the floor rises after many rows and some time, and falls to rows found below it`() throws {
        var board = LaneBoard(quantum: 1000)
        board.found([lane(1)], at: start)
        var now = start
        var id: Int64 = 1
        for _ in 0..<42 {
            let plan = try claim(&board, at: now)
            board.claimed(plan, rows: Int(plan.rows), pushes: Int(plan.pushes), lowest: id, next: nil, at: now)
            id += Int64(plan.rows)
            now = now + .milliseconds(20)
        }
        let floor = try #require(board.lookRange(after: nil, turn: nil, maxSteps: nil).known.first)
        #expect(floor.id > 1)
        #expect(floor.id < id - 4096)
        let usual = try claim(&board, at: now)
        #expect(usual.floor == id - Int64(usual.rows), "most claims begin at the rows that were claimed last")
        board.claimed(usual, rows: Int(usual.rows), pushes: Int(usual.pushes), lowest: id, next: nil, at: now)
        #expect(board.risenFloors.map(\.id) == [floor.id])
        now = now + ScanFloor<Int64>.leastInterval
        let rare = try claim(&board, at: now)
        #expect(rare.floor == floor.id, "now and then, a claim sees what was committed late")
        board.returned([(lane(1), 3)], at: now)
        let lower = try claim(&board, at: now)
        #expect(lower.floor == 3)
    }

    @Test func `rows that return below the floor are claimed`() throws {
        var board = LaneBoard(quantum: 10)
        board.returned([(lane(1), 7)], at: start)
        let plan = try claim(&board)
        #expect(plan.floor <= 7)
    }

    @Test func `lanes without rows are forgotten after a while`() {
        var board = LaneBoard(quantum: 10)
        board.found([lane(1)], at: start)
        if let plan = next(&board) {
            board.claimed(plan, rows: 0, pushes: 0, lowest: nil, next: nil, at: start)
        }
        board.forgetIdle(at: start + .seconds(11))
        expectNone(&board)
        #expect(board.lookRange(after: nil, turn: nil, maxSteps: nil).known.isEmpty)
    }

    @Test func `the lanes of the other environment and of second tries are as urgent as the usual ones`() {
        let numbers: [Int16] = [-1, 0, 1, 2, 3, 9, 10, 11, 12, 13, 20, 21, 22, 30, 31, 32, 33, 41]
        let lanes = numbers.map { Lane(app: 1, number: $0) }
        #expect(lanes.map(\.urgency.rawValue) == [0, 0, 1, 2, 2, 2, 0, 1, 2, 2, 0, 1, 2, 0, 1, 2, 2, 2])
        #expect(lanes.filter(\.isAway).map(\.number) == [10, 11, 12, 20, 21, 22])
        #expect(lanes.filter(\.isSecondTry).map(\.number) == [20, 21, 22, 30, 31, 32])
    }
}

extension LaneBoard {
    /// A look found rows in these lanes of apps that exist.
    mutating func found(_ lanes: [Lane], at now: MonotonicInstant) { found(lanes, at: now) { _ in true } }
}

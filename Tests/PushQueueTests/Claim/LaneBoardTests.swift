import IO
import Testing

@testable import PushQueue

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
        return self.next(&board, at: now, counting: &asked) { _ in allowance }
    }

    /// The next claim, and how many lanes were asked for it.
    private func next(
        _ board: inout LaneBoard,
        at now: MonotonicInstant? = nil,
        counting asked: inout Int,
        _ allowance: (Lane) -> LaneBoard.Allowance
    ) -> ClaimPlan? {
        board.next(at: now ?? self.start, within: &asked) { asked, lane in
            asked += 1
            return allowance(lane)
        }
    }

    private func lane(_ app: Int32, _ number: Int16 = 1) -> Lane { Lane(app: app, number: number) }

    /// Claims from lanes that never run dry, and counts whose turn it was.
    private func turns(_ board: inout LaneBoard, _ count: Int) -> [Lane: Int] {
        var turns: [Lane: Int] = [:]
        for _ in 0..<count {
            guard let plan = self.next(&board) else { break }
            turns[plan.lane, default: 0] += Int(plan.pushes)
            board.claimed(plan, rows: Int(plan.rows), pushes: Int(plan.pushes), first: 1, next: nil, at: self.start)
        }
        return turns
    }

    @Test func `a lane without rows is not claimed from`() {
        var board = LaneBoard(quantum: 100)
        do {
            let none = self.next(&board)
            #expect(none == nil)
        }
    }

    @Test func `a claim that was too large is halved, and one row that is too large rests for a while`() throws {
        var board = LaneBoard(quantum: 1000)
        board.found([self.lane(1), self.lane(2)], at: self.start)
        var rows: [Int32] = []
        while let plan = self.next(&board), rows.count < 40 {
            guard plan.lane.app == 1 else {
                board.claimed(plan, rows: 0, pushes: 0, first: nil, next: nil, at: self.start)
                continue
            }
            rows.append(plan.rows)
            board.abandoned(plan, wasTooLarge: true, at: self.start)
        }
        #expect(rows == [62, 31, 15, 7, 3, 1])
        let later = self.start + LaneBoard.rest
        let next = self.next(&board, at: later)
        let plan = try #require(next)
        #expect(plan.rows == 1)
        board.claimed(plan, rows: 1, pushes: 1, first: 1, next: 1, at: later)
        let more = self.next(&board, at: later)
        #expect(more?.rows == 2)
    }

    @Test func `what a lane holds is felt for before much room is taken for it`() throws {
        var board = LaneBoard(quantum: 800)
        board.found([self.lane(1)], at: self.start)
        let firstPlan = self.next(&board)
        let first = try #require(firstPlan)
        let little = 800 / LaneBoard.caution
        #expect(first.pushes == Int32(little))
        do {
            let none = self.next(&board)
            #expect(none == nil, "one look at a time")
        }
        board.claimed(first, rows: Int(first.rows), pushes: little, first: 1, next: nil, at: self.start)
        let secondPlan = self.next(&board)
        let second = try #require(secondPlan)
        #expect(second.pushes > first.pushes)
        board.claimed(second, rows: 3, pushes: 3, first: 101, next: nil, at: self.start)
        do {
            let none = self.next(&board)
            #expect(none == nil, "it had less than was asked for")
        }
    }

    @Test func `apps take turns of the same length`() {
        var board = LaneBoard(quantum: 100)
        board.found([self.lane(1), self.lane(2), self.lane(3)], at: self.start)
        let turns = self.turns(&board, 300)
        let least = turns.values.min() ?? 0
        let most = turns.values.max() ?? 0
        #expect(turns.count == 3)
        #expect(most - least <= 200)
    }

    @Test func `what is urgent goes first, and what is bulk has its share`() {
        var board = LaneBoard(quantum: 100)
        board.found([self.lane(1, 0), self.lane(1, 1), self.lane(1, 2)], at: self.start)
        let first = self.next(&board)
        #expect(first?.lane.urgency == .urgent)
        var busy = LaneBoard(quantum: 100)
        busy.found([self.lane(1, 0), self.lane(1, 1), self.lane(1, 2)], at: self.start)
        let turns = self.turns(&busy, 2100)
        let bulk = turns[self.lane(1, 2)] ?? 0
        let urgent = turns[self.lane(1, 0)] ?? 0
        #expect(bulk >= 9000)
        #expect(urgent > 10 * bulk)
    }

    @Test func `an app that may not claim holds up nobody, and is asked again when it is freed`() throws {
        var board = LaneBoard(quantum: 100)
        board.found([self.lane(1), self.lane(2)], at: self.start)
        var asked = 0
        let first = self.next(&board, counting: &asked) { $0.app == 1 ? .blocked(until: nil) : self.room }
        #expect(first?.lane.app == 2)
        let none = self.next(&board, at: self.start + .seconds(3600), counting: &asked) { _ in self.room }
        #expect(none == nil)
        board.freed(1)
        let second = self.next(&board)
        #expect(second?.lane.app == 1)
    }

    @Test func `an app that may claim later is asked when its time has come`() throws {
        var board = LaneBoard(quantum: 100)
        board.found([self.lane(1), self.lane(1, 0)], at: self.start)
        let end = self.start + .seconds(2)
        let held = self.next(&board, .blocked(until: end))
        #expect(held == nil)
        let early = self.next(&board, at: self.start + .milliseconds(1999))
        #expect(early == nil)
        let lanes = [self.next(&board, at: end), self.next(&board, at: end)].compactMap { $0?.lane.number }
        #expect(lanes.sorted() == [0, 1])
    }

    @Test func `ten thousand apps that may not claim are asked once, however often a claim is looked for`() {
        var board = LaneBoard(quantum: 100)
        let lanes = (1...10000).map { self.lane($0) }
        var asked = 0
        for _ in 0..<100 {
            board.found(lanes, at: self.start)
            let none = self.next(&board, counting: &asked) { .blocked(until: $0.app % 2 == 0 ? .distantFuture : nil) }
            #expect(none == nil)
        }
        #expect(asked == 10000)
    }

    @Test func `a row that did not fit is asked for when there is room for it`() throws {
        var board = LaneBoard(quantum: 100)
        board.found([self.lane(1)], at: self.start)
        let firstPlan = self.next(&board)
        let first = try #require(firstPlan)
        board.claimed(first, rows: 0, pushes: 0, first: nil, next: 700, at: self.start)
        do {
            let none = self.next(&board, .pushes(room: 699))
            #expect(none == nil)
        }
        let secondPlan = self.next(&board, .pushes(room: 700))
        let second = try #require(secondPlan)
        #expect(second.pushes == 700)
    }

    @Test func `fewer rows are asked for where rows hold many pushes`() throws {
        var board = LaneBoard(quantum: 1000)
        board.found([self.lane(1)], at: self.start)
        let firstPlan = self.next(&board)
        let first = try #require(firstPlan)
        board.claimed(first, rows: 1, pushes: 100, first: 1, next: 100, at: self.start)
        let secondPlan = self.next(&board)
        let second = try #require(secondPlan)
        #expect(second.rows <= 10)
    }

    @Test func `the floor rises behind many rows and some time, and sinks to what was found below it`() throws {
        var board = LaneBoard(quantum: 1000)
        board.found([self.lane(1)], at: self.start)
        var now = self.start
        var id: Int64 = 1
        for _ in 0..<42 {
            let planPlan = self.next(&board, at: now)
            let plan = try #require(planPlan)
            board.claimed(plan, rows: Int(plan.rows), pushes: Int(plan.pushes), first: id, next: nil, at: now)
            id += Int64(plan.rows)
            now = now + .milliseconds(20)
        }
        let floor = try #require(board.floors.first)
        #expect(floor.id > 1)
        #expect(floor.id < id - 4096)
        let usualPlan = self.next(&board, at: now)
        let usual = try #require(usualPlan)
        #expect(usual.floor == id - Int64(usual.rows), "most claims begin at the rows that were claimed last")
        board.claimed(usual, rows: Int(usual.rows), pushes: Int(usual.pushes), first: id, next: nil, at: now)
        #expect(board.risenFloors.map(\.id) == [floor.id])
        now = now + LaneFloor.leastPause
        let rarePlan = self.next(&board, at: now)
        let rare = try #require(rarePlan)
        #expect(rare.floor == floor.id, "now and then, a claim sees what was committed late")
        board.returned(to: self.lane(1), lowest: 3, at: now)
        let lowerPlan = self.next(&board, at: now)
        let lower = try #require(lowerPlan)
        #expect(lower.floor == 3)
    }

    @Test func `rows that come back below the floor are seen`() throws {
        var board = LaneBoard(quantum: 10)
        board.returned(to: self.lane(1), lowest: 7, at: self.start)
        let planPlan = self.next(&board)
        let plan = try #require(planPlan)
        #expect(plan.floor <= 7)
    }

    @Test func `lanes without rows are forgotten after a while`() {
        var board = LaneBoard(quantum: 10)
        board.found([self.lane(1)], at: self.start)
        if let plan = self.next(&board) {
            board.claimed(plan, rows: 0, pushes: 0, first: nil, next: nil, at: self.start)
        }
        board.forgetIdle(at: self.start + .seconds(11))
        let none = self.next(&board)
        #expect(none == nil)
        #expect(board.floors.isEmpty)
    }
}

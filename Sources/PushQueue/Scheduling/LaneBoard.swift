import IO

/// What this worker knows of the lanes, and which of them to claim from next.
///
/// Deficit round-robin: within one urgency the lanes take turns, each with the same allowance of pushes; the urgencies
/// take turns of different lengths. A lane that has nothing leaves the round until a look finds rows in it again.
struct LaneBoard: Sendable {
    /// What may be claimed from an app at the moment.
    enum Allowance: Equatable {
        /// Nothing before that instant or, without one, before the app is freed.
        case blocked(until: MonotonicInstant?)
        /// There is room for so many. More than `most` should not be taken, and any number below it is worth a claim.
        case pushes(room: Int, most: Int = .max)
    }

    private struct Entry {
        var floor = LaneFloor()
        /// Pushes that the lane may still claim in this turn.
        var deficit = 0
        var isReady = false
        /// Claims that were asked for and not answered yet.
        var asked = 0
        /// The last claim left rows behind: several claims of this lane may overlap.
        var depth = Depth.shallow
        /// How many pushes a row holds, on average, as far as claims have shown.
        var pushesPerRow = 0.0
        /// More rows are too many for the server to hand over at once, as far as claims have shown.
        var mostRows = LaneBoard.mostRows
        /// The next row holds so many pushes: less room is of no use.
        var least = 1
        var usedAt: MonotonicInstant
    }

    /// How many pushes a claim takes.
    let quantum: Int
    static let mostRows = 1000
    /// How long a lane is left alone that the server has no memory for.
    static let rest = Duration.seconds(1)
    /// A first claim takes so much less than later ones.
    static let caution = 16
    /// A lane that was idle for so long is forgotten, its floor too.
    static let memory = Duration.seconds(10)

    private var entries: [Lane: Entry] = [:]
    /// A lane that is ready and not parked stands in the round of its depth and urgency.
    private var turns = Depth.allCases.map { _ in Turns() }
    private var parked = ParkedLanes()

    init(quantum: Int) {
        precondition(quantum > 0)
        self.quantum = quantum
    }

    /// The lanes that are scanned from a floor, in the order of the index. A deep lane with a claim under way is known to
    /// have rows: looking for them, past all that were claimed already, would tell nothing and take long.
    var floors: [(lane: Lane, id: Int64)] {
        entries.lazy.compactMap { lane, entry in
            if entry.depth == .deep, entry.asked > 0 { return (lane, .max) }
            return entry.floor.isLow ? nil : (lane, entry.floor.id)
        }.sorted { $0.lane < $1.lane }
    }

    /// Where rows may be that no claim sees: below these ids.
    var risenFloors: [(lane: Lane, id: Int64)] {
        entries.compactMap { lane, entry in entry.floor.isLow ? nil : (lane, entry.floor.id) }
    }

    // MARK: What happened

    /// A look found rows in these lanes.
    mutating func found(_ lanes: some Sequence<Lane>, at now: MonotonicInstant) {
        for lane in lanes {
            var entry = entries[lane] ?? Entry(usedAt: now)
            entry.usedAt = now
            // A claim under way takes what the look has seen; of what came between them, the next look will know.
            if entry.asked == 0 || entry.depth == .deep { makeReady(lane, &entry) }
            entries[lane] = entry
        }
    }

    /// The answer to a claim: so many rows with so many pushes together, the ids of the first, and whether the lane has
    /// more. `next` is the number of pushes in the next row where that was too large for the room left.
    mutating func claimed(
        _ plan: ClaimPlan,
        rows: Int,
        pushes: Int,
        first: Int64?,
        next: Int?,
        at now: MonotonicInstant
    ) {
        guard var entry = entries[plan.lane] else { return }
        entry.asked -= 1
        entry.usedAt = now
        entry.mostRows = min(Self.mostRows, entry.mostRows * 2)
        entry.deficit += Int(plan.pushes) - pushes
        entry.least = max(1, next ?? 1)
        entry.depth = next != nil || rows == Int(plan.rows) ? .deep : .shallow
        if rows > 0 {
            let share = Double(pushes) / Double(rows)
            entry.pushesPerRow = entry.pushesPerRow == 0 ? share : (entry.pushesPerRow + share) / 2
        }
        // A claim from below a floor that has risen meanwhile tells nothing about where rows begin now.
        if let first, first >= entry.floor.id { entry.floor.claimed(first: first, rows: rows, at: now) }
        if entry.depth == .deep {
            makeReady(plan.lane, &entry)
        } else if entry.asked == 0 {
            entry.isReady = false
            entry.deficit = 0
        }
        // Its depth may have changed, and its round with it.
        if entry.isReady { join(plan.lane, entry) }
        entries[plan.lane] = entry
    }

    /// The claim was not made after all; its rows are where they were.
    /// - Parameter wasTooLarge: They were too many for the server at once: half of them may not be. Where even one is, it
    ///   is short of memory, and the lane rests for a while.
    mutating func abandoned(_ plan: ClaimPlan, wasTooLarge: Bool = false, at now: MonotonicInstant) {
        guard var entry = entries[plan.lane] else { return }
        entry.asked -= 1
        entry.deficit += Int(plan.pushes)
        if wasTooLarge { entry.mostRows = max(1, Int(plan.rows) / 2) }
        makeReady(plan.lane, &entry)
        entries[plan.lane] = entry
        guard wasTooLarge, plan.rows == 1 else { return }
        turns[entry.depth.rawValue][plan.lane.urgency].remove(plan.lane)
        parked.park(plan.lane, until: now + Self.rest)
    }

    /// Rows came back to the lane, the lowest of them with that id.
    mutating func returned(to lane: Lane, lowest: Int64, at now: MonotonicInstant) {
        var entry = entries[lane] ?? Entry(usedAt: now)
        entry.floor.lower(to: lowest)
        makeReady(lane, &entry)
        entries[lane] = entry
    }

    /// A trial in the lane is over, the first row of which had that id. As many more wait for theirs, perhaps.
    mutating func tried(_ lane: Lane, first: Int64) {
        guard var entry = entries[lane] else { return }
        entry.floor.lower(to: first)
        entry.depth = .deep
        entry.isReady = true
        // Its round may have changed with its depth.
        join(lane, entry)
        entries[lane] = entry
    }

    /// What kept the app from claiming may be over.
    mutating func freed(_ app: Int32) {
        rejoin(parked.free(app))
    }

    /// Starts every scan from the beginning again, for those who must be sure that nothing is left.
    mutating func forgetFloors() {
        for lane in entries.keys { entries[lane]?.floor = LaneFloor() }
    }

    /// Forgets lanes that have had nothing for a while.
    mutating func forgetIdle(at now: MonotonicInstant) {
        entries = entries.filter {
            $0.value.isReady || $0.value.asked > 0 || now - $0.value.usedAt < Self.memory
        }
    }

    // MARK: What to do next

    /// The next claim of a lane of one of these depths, or nil when there is none to make: no lane has rows, or none that
    /// has may claim. The limits are asked for the allowance of each lane whose turn it is.
    mutating func next<Limits>(
        of depths: [Depth] = Depth.allCases,
        at now: MonotonicInstant,
        within limits: inout Limits,
        allowance: (inout Limits, Lane) -> Allowance
    ) -> ClaimPlan? {
        while let lanes = parked.freeDue(at: now) { rejoin(lanes) }
        for depth in depths where !turns[depth.rawValue].isEmpty {
            // Once around and back to the urgency that has used up part of its turn, which may be the only one with rows.
            for _ in 0...Urgency.allCases.count {
                if let plan = next(of: depth, at: now, &limits, allowance) {
                    turns[depth.rawValue].claimed()
                    return plan
                }
                turns[depth.rawValue].pass()
            }
        }
        return nil
    }

    /// The next claim of the urgency whose turn it is.
    private mutating func next<Limits>(
        of depth: Depth,
        at now: MonotonicInstant,
        _ limits: inout Limits,
        _ allowance: (inout Limits, Lane) -> Allowance
    ) -> ClaimPlan? {
        let urgency = turns[depth.rawValue].urgency
        // A lane in debt passes its turn; where all others have nothing, the debt is soon paid.
        for _ in 0..<turns[depth.rawValue][urgency].count * 4 {
            guard let lane = turns[depth.rawValue][urgency].first else { return nil }
            guard var entry = entries[lane], entry.isReady, entry.depth == depth else {
                turns[depth.rawValue][urgency].removeFirst()
                continue
            }
            let allowance = allowance(&limits, lane)
            if case .blocked(let until) = allowance {
                turns[depth.rawValue][urgency].removeFirst()
                parked.park(lane, until: until)
                continue
            }
            if let plan = self.plan(lane, &entry, at: now, allowance: allowance) {
                if isTurnOver(entry) { turns[depth.rawValue][urgency].rotate() }
                // One look at what may be the lane's last rows is enough; the answer says whether there are more.
                if depth == .shallow { entry.isReady = false }
                entries[lane] = entry
                return plan
            }
            entries[lane] = entry
            turns[depth.rawValue][urgency].rotate()
        }
        return nil
    }

    /// A turn is over when the allowance that is left is not worth a claim; a row that was larger than the allowance
    /// leaves a debt, which the next turns pay off.
    private func isTurnOver(_ entry: Entry) -> Bool { entry.deficit * 2 < quantum }

    private func plan(
        _ lane: Lane,
        _ entry: inout Entry,
        at now: MonotonicInstant,
        allowance: Allowance
    ) -> ClaimPlan? {
        guard case .pushes(let room, let most) = allowance, entry.depth == .deep || entry.asked == 0 else {
            return nil
        }
        if isTurnOver(entry) { entry.deficit += quantum }
        guard !isTurnOver(entry) else { return nil }
        // What a lane has is unknown until a claim leaves rows behind: until then it should not take the room of others.
        let size = entry.depth == .deep ? quantum : max(1, quantum / Self.caution)
        let wanted = max(entry.least, min(size, entry.deficit, most))
        guard wanted <= room else { return nil }
        let rows = min(entry.mostRows, max(1, Int((Double(wanted) / max(1, entry.pushesPerRow)).rounded(.up))))
        entry.deficit -= wanted
        entry.asked += 1
        return ClaimPlan(
            lane: lane,
            depth: entry.depth,
            floor: entry.depth == .deep ? entry.floor.amidst(at: now) : entry.floor.id,
            rows: Int32(rows),
            pushes: Int32(clamping: wanted)
        )
    }

    private mutating func rejoin(_ lanes: [Lane]) {
        for lane in lanes {
            if let entry = entries[lane], entry.isReady { join(lane, entry) }
        }
    }

    private mutating func makeReady(_ lane: Lane, _ entry: inout Entry) {
        guard !entry.isReady else { return }
        entry.isReady = true
        join(lane, entry)
    }

    private mutating func join(_ lane: Lane, _ entry: Entry) {
        turns[entry.depth.rawValue][lane.urgency].append(lane)
    }
}

import CarillonIO

/// The order in which lanes with rows are claimed from.
///
/// Deficit round-robin: lanes of one urgency are served one after another, each with the same quantum of pushes; the urgencies
/// are served likewise, each with its number of claims. A lane without rows leaves its ring until a look finds rows in it again.
struct LaneBoard: Sendable {
    enum Allowance: Equatable {
        /// Nothing may be claimed before that instant or, if it is nil, until the app is freed.
        case blocked(until: MonotonicInstant?)
        /// A claim takes up to `max` pushes, and a single row up to `room`.
        case pushes(room: Int, max: Int = .max)
    }

    /// How many rounds of a ring may pass without a claim. In each, a lane in debt gets another quantum: if it is alone, it pays
    /// the debt in a few.
    private static let rounds = 4
    /// Every urgency is tried, and the one that was served is tried again: its lanes may pay off more of their debts.
    private static let tries = Lane.Urgency.allCases.count + 1
    /// The most lanes of an app that are in use at a time, and of all apps that do not exist. Otherwise an app with rows in many
    /// lanes would delay the others and fill the memory. Later looks find the remaining lanes.
    static let maxLanesOfOneApp = 1024

    /// The pushes of a usual claim.
    let quantum: Int
    private var states: [Lane: LaneState] = [:]
    /// A lane that is ready and not parked is in the ring of its depth and urgency.
    private var rings = Lane.Depth.allCases.map { _ in LaneRings() }
    private var parked = ParkedLanes()
    /// The last look found rows in more lanes than may be in use.
    private(set) var hasLeftLanes = false

    init(quantum: Int) {
        precondition(quantum > 0)
        self.quantum = quantum
    }

    private subscript(depth: Lane.Depth, urgency: Lane.Urgency) -> LaneRings.Ring {
        get { rings[depth.rawValue][urgency] }
        _modify { yield &rings[depth.rawValue][urgency] }
    }

    /// The lanes that a look reads: those after `start`. If the previous look left lanes out, this one has a turn: it also reads
    /// regular lanes before `start`, or, if there are more than `maxSteps`, another part of them at each turn.
    func lookRange(after start: Lane?, turn: Int?, maxSteps: Int?) -> LookRange {
        var range = LookRange(start: start, maxSteps: maxSteps)
        for (lane, state) in states {
            let isAhead = start.map { $0 < lane } ?? true
            if isAhead, let floor = state.lookFloor {
                range.known.append((lane, floor))
            } else if turn != nil, state.isRegular, !state.isReady {
                // Even lanes with a claim under way: it does not see rows that are committed after it began.
                range.others.append((lane, state.lookFloor ?? .min))
            }
        }
        if range.known.count > 1 { range.known.sort { $0.lane < $1.lane } }
        guard let maxSteps else { return range }
        if range.known.count > maxSteps {
            range.known.removeSubrange(maxSteps...)
            range.endsAtKnown = true
        }
        if let turn, range.others.count > maxSteps {
            let parts = range.others.count / maxSteps + 1
            range.others.removeAll { (Int($0.lane.app) + Int($0.lane.number) + turn) % parts != 0 }
        }
        return range
    }

    /// No claim sees rows below these ids: they may have been committed long after their ids were drawn.
    var risenFloors: [(lane: Lane, id: Int64)] {
        states.compactMap { lane, state in state.risenFloor.map { (lane: lane, id: $0) } }
    }

    // MARK: Events

    /// A look found rows in these lanes.
    /// - Parameter exists: Whether there is such an app.
    mutating func found(_ lanes: some Collection<Lane>, at now: MonotonicInstant, exists: (Int32) -> Bool) {
        var used = lanesInUse(beside: lanes.count, exists)
        var left = 0
        for lane in lanes {
            if mayUse(lane, &used, exists) {
                change(lane, orBeginAt: now) { $0.found(at: now) }
            } else {
                left += 1
            }
        }
        hasLeftLanes = left > 0
    }

    /// Jobs that were due have come to these lanes.
    /// - Parameter exists: Whether there is such an app.
    mutating func promoted(_ rows: [(lane: Lane, lowest: Int64)], at now: MonotonicInstant, exists: (Int32) -> Bool) {
        var used = lanesInUse(beside: rows.count, exists)
        for (lane, lowest) in rows {
            if mayUse(lane, &used, exists) {
                change(lane, orBeginAt: now) { $0.returned(lowest: lowest) }
            } else {
                change(lane) { $0.lowerFloor(to: lowest) }
            }
        }
    }

    /// By app. Nil stands for all apps that do not exist. Empty if there cannot be too many.
    private func lanesInUse(beside more: Int, _ exists: (Int32) -> Bool) -> [Int32?: Int] {
        guard states.count + more > Self.maxLanesOfOneApp else { return [:] }
        var used: [Int32?: Int] = [:]
        for (lane, state) in states where state.isInUse { used[exists(lane.app) ? lane.app : nil, default: 0] += 1 }
        return used
    }

    /// Whether a lane with rows is used, and so counts.
    private func mayUse(_ lane: Lane, _ used: inout [Int32?: Int], _ exists: (Int32) -> Bool) -> Bool {
        if let state = states[lane], state.isInUse { return true }
        let app = exists(lane.app) ? lane.app : nil
        // Lanes 0 to 2 of an app are always used.
        guard used[app, default: 0] < Self.maxLanesOfOneApp || app != nil && lane.isUsual else { return false }
        used[app, default: 0] += 1
        return true
    }

    /// A claim has returned. `LaneState.claimed` describes the parameters.
    mutating func claimed(
        _ plan: ClaimPlan,
        rows: Int,
        pushes: Int,
        lowest: Int64?,
        next: Int?,
        at now: MonotonicInstant
    ) {
        change(plan.lane) { $0.claimed(plan, rows: rows, pushes: pushes, lowest: lowest, next: next, at: now) }
    }

    /// A claim was not made.
    mutating func abandoned(_ plan: ClaimPlan, wasTooLarge: Bool) {
        change(plan.lane) { $0.abandoned(plan, wasTooLarge: wasTooLarge) }
    }

    /// Rows are back in these lanes, or were found below their floors.
    mutating func returned(_ rows: [(lane: Lane, lowest: Int64)], at now: MonotonicInstant) {
        for (lane, lowest) in rows {
            change(lane, orBeginAt: now) { $0.returned(lowest: lowest) }
        }
    }

    mutating func quarantineEnded(in lane: Lane, lowest: Int64) {
        change(lane) { $0.quarantineEnded(lowest: lowest) }
    }

    /// Jobs of the app may be claimable again.
    mutating func freed(_ app: Int32) { rejoin(parked.free(app)) }

    /// Jobs are back in the queue, and may be below the floors.
    mutating func forgetFloors() {
        for lane in states.keys { states[lane]?.forgetFloor() }
    }

    mutating func forgetIdle(at now: MonotonicInstant) {
        states = states.filter { !$0.value.isForgotten(at: now) }
    }

    /// - Parameters:
    ///   - now: When the lane becomes known. If nil, a lane that is not known is left alone.
    ///   - event: Says whether the lane joins its ring.
    private mutating func change(
        _ lane: Lane,
        orBeginAt now: MonotonicInstant? = nil,
        _ event: (inout LaneState) -> Bool
    ) {
        guard var state = states[lane] ?? now.map({ LaneState(at: $0) }) else { return }
        let joins = event(&state)
        states[lane] = state
        if joins { append(lane, state) }
    }

    private mutating func rejoin(_ lanes: [Lane]) {
        for lane in lanes {
            if let state = states[lane], state.isReady { append(lane, state) }
        }
    }

    private mutating func append(_ lane: Lane, _ state: LaneState) {
        self[state.depth, lane.urgency].append(lane, isRegular: state.isRegular)
    }

    // MARK: Decisions

    /// The next claim, if there is one now. Small claims go first, since they end soon.
    /// - Parameter allowance: Asked for each lane that might be claimed from.
    mutating func next(in slots: ClaimSlots, at now: MonotonicInstant, allowance: (Lane) -> Allowance) -> ClaimPlan? {
        while let lanes = parked.freeDue(at: now) { rejoin(lanes) }
        for depth in Lane.Depth.allCases where !rings[depth.rawValue].isEmpty && slots.isOpen(depth) {
            for _ in 0..<Self.tries {
                if let plan = planInRing(of: depth, at: now, allowance) {
                    rings[depth.rawValue].claimed()
                    return plan
                }
                rings[depth.rawValue].pass()
            }
        }
        return nil
    }

    /// The next claim of the urgency that is served. Goes round its ring: lanes without rows leave it, those that are blocked
    /// are parked, and one whose quantum is spent goes to the end.
    private mutating func planInRing(
        of depth: Lane.Depth,
        at now: MonotonicInstant,
        _ allowance: (Lane) -> Allowance
    ) -> ClaimPlan? {
        let urgency = rings[depth.rawValue].urgency
        for _ in 0..<self[depth, urgency].count * Self.rounds {
            guard let lane = self[depth, urgency].first else { return nil }
            guard var state = states[lane], state.isReady, state.depth == depth else {
                self[depth, urgency].removeFirst()
                continue
            }
            switch allowance(lane) {
            case .blocked(let until):
                self[depth, urgency].removeFirst()
                parked.park(lane, until: until)
            case .pushes(let room, let max):
                let plan = state.plan(lane, quantum: quantum, room: room, max: max, at: now)
                states[lane] = state
                if !state.isReady {
                    self[depth, urgency].removeFirst()
                } else if plan == nil || state.hasSpent(quantum) {
                    self[depth, urgency].rotate()
                }
                if let plan { return plan }
            }
        }
        return nil
    }
}

import CarillonIO

/// The lanes that a worker knows, and the one to claim from next.
///
/// Deficit round-robin: lanes of one urgency are served one after another, each with the same quantum of pushes; the urgencies
/// are served likewise, each with its number of claims. A lane without rows leaves its ring until a look finds rows in it again.
struct LaneBoard: Sendable {
    enum Allowance: Equatable {
        /// Nothing may be claimed before that instant; nil: before the app is freed.
        case blocked(until: MonotonicInstant?)
        /// A claim takes up to `most` pushes, and a single row up to `room`.
        case pushes(room: Int, most: Int = .max)
    }

    private struct Entry {
        var floor = LaneBoard.beginning
        /// Pushes that the lane may claim before the next one is served.
        var deficit = 0
        var isReady = false
        /// Claims without an answer. Those of a deep lane may overlap.
        var asked = 0
        var depth = Lane.Depth.shallow
        /// The average of the latest claims.
        var pushesPerRow = 0.0
        /// How many rows the server has memory for, as far as claims have shown.
        var mostRows = LaneBoard.mostRows
        var nextRowPushes = 1
        var usedAt: MonotonicInstant
    }

    /// The pushes of a usual claim.
    let quantum: Int
    static let mostRows = 1000
    /// How long a lane is parked when the server has no memory for one of its rows.
    static let parkingTime = Duration.seconds(1)
    /// A claim of a shallow lane takes this fraction of the quantum: 1/16.
    static let caution = 16
    /// How long an idle lane is remembered, with its floor.
    static let memory = Duration.seconds(10)
    private static let beginning = ScanFloor(at: Int64.min, leastRows: 4096)

    private var entries: [Lane: Entry] = [:]
    /// A lane that is ready and not parked is in the ring of its depth and urgency.
    private var rings = Lane.Depth.allCases.map { _ in LaneRings() }
    private var parked = ParkedLanes()

    init(quantum: Int) {
        precondition(quantum > 0)
        self.quantum = quantum
    }

    /// Where looks begin, in the order of the index. Looks skip a deep lane with a claim under way: it is known to have rows,
    /// and they would walk over all that were just claimed.
    var floors: [(lane: Lane, id: Int64)] {
        var floors: [(lane: Lane, id: Int64)] = []
        for (lane, entry) in entries {
            let isKnown = entry.depth == .deep && entry.asked > 0
            if isKnown || !entry.floor.isLow { floors.append((lane, isKnown ? .max : entry.floor.position)) }
        }
        return floors.count < 2 ? floors : floors.sorted { $0.lane < $1.lane }
    }

    /// Rows below these ids are seen by no claim.
    var risenFloors: [(lane: Lane, id: Int64)] {
        entries.compactMap { lane, entry in entry.floor.isLow ? nil : (lane, entry.floor.position) }
    }

    // MARK: Events

    /// A look found rows in these lanes.
    mutating func found(_ lanes: some Sequence<Lane>, at now: MonotonicInstant) {
        for lane in lanes {
            var entry = entries[lane] ?? Entry(usedAt: now)
            entry.usedAt = now
            // A claim under way takes the rows that this look saw.
            if entry.asked == 0 || entry.depth == .deep { makeReady(lane, &entry) }
            entries[lane] = entry
        }
    }

    /// A claim was answered.
    /// - Parameters:
    ///   - first: The lowest id.
    ///   - next: The pushes of the next row, if it did not fit.
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
        entry.nextRowPushes = max(1, next ?? 1)
        entry.depth = next != nil || rows == Int(plan.rows) ? .deep : .shallow
        if rows > 0 {
            let ratio = Double(pushes) / Double(rows)
            entry.pushesPerRow = entry.pushesPerRow == 0 ? ratio : (entry.pushesPerRow + ratio) / 2
        }
        // The floor may have risen since the claim was planned.
        if let first, first >= entry.floor.position { entry.floor.took(rows, at: first, now) }
        if entry.depth == .deep {
            makeReady(plan.lane, &entry)
        } else if entry.asked == 0 {
            entry.isReady = false
            entry.deficit = 0
        }
        // Its ring depends on its depth.
        if entry.isReady { join(plan.lane, entry) }
        entries[plan.lane] = entry
    }

    /// A claim was not made.
    /// - Parameter wasTooLarge: The server has no memory for this many rows: the next claim takes half of them. If it has none for
    ///   a single row, the lane is parked.
    mutating func abandoned(_ plan: ClaimPlan, wasTooLarge: Bool = false, at now: MonotonicInstant) {
        guard var entry = entries[plan.lane] else { return }
        entry.asked -= 1
        entry.deficit += Int(plan.pushes)
        if wasTooLarge { entry.mostRows = max(1, Int(plan.rows) / 2) }
        makeReady(plan.lane, &entry)
        entries[plan.lane] = entry
        guard wasTooLarge, plan.rows == 1 else { return }
        rings[entry.depth.rawValue][plan.lane.urgency].remove(plan.lane)
        parked.park(plan.lane, until: now + Self.parkingTime)
    }

    /// Rows went back to the lane.
    mutating func returned(to lane: Lane, lowest: Int64, at now: MonotonicInstant) {
        var entry = entries[lane] ?? Entry(usedAt: now)
        entry.floor.lower(to: lowest)
        makeReady(lane, &entry)
        entries[lane] = entry
    }

    /// A quarantined claim has ended. More quarantined jobs may be behind it.
    mutating func quarantineEnded(in lane: Lane, first: Int64) {
        guard var entry = entries[lane] else { return }
        entry.floor.lower(to: first)
        entry.depth = .deep
        entry.isReady = true
        join(lane, entry)
        entries[lane] = entry
    }

    /// Jobs of the app may be claimable again.
    mutating func freed(_ app: Int32) { rejoin(parked.free(app)) }

    mutating func forgetFloors() {
        for lane in entries.keys { entries[lane]?.floor = Self.beginning }
    }

    mutating func forgetIdle(at now: MonotonicInstant) {
        entries = entries.filter {
            $0.value.isReady || $0.value.asked > 0 || now - $0.value.usedAt < Self.memory
        }
    }

    // MARK: Decisions

    /// The next claim; nil: there is none now. Small claims go first, since they end soon.
    /// - Parameter allowance: Asked for each lane that might be claimed from.
    mutating func next(
        in slots: ClaimSlots = ClaimSlots(),
        at now: MonotonicInstant,
        allowance: (Lane) -> Allowance
    ) -> ClaimPlan? {
        while let lanes = parked.freeDue(at: now) { rejoin(lanes) }
        for depth in Lane.Depth.allCases where !rings[depth.rawValue].isEmpty && slots.isOpen(depth) {
            // All three urgencies, and again the first, whose claims may have been partly used.
            for _ in 0...3 {
                if let plan = planInRing(of: depth, at: now, allowance) {
                    rings[depth.rawValue].claimed()
                    return plan
                }
                rings[depth.rawValue].pass()
            }
        }
        return nil
    }

    /// The next claim of the urgency that is served.
    private mutating func planInRing(
        of depth: Lane.Depth,
        at now: MonotonicInstant,
        _ allowance: (Lane) -> Allowance
    ) -> ClaimPlan? {
        let urgency = rings[depth.rawValue].urgency
        // A lane in debt is passed over. If it is alone, it pays the debt in a few passes.
        for _ in 0..<rings[depth.rawValue][urgency].count * 4 {
            guard let lane = rings[depth.rawValue][urgency].first else { return nil }
            guard var entry = entries[lane], entry.isReady, entry.depth == depth else {
                rings[depth.rawValue][urgency].removeFirst()
                continue
            }
            let allowance = allowance(lane)
            if case .blocked(let until) = allowance {
                rings[depth.rawValue][urgency].removeFirst()
                parked.park(lane, until: until)
                continue
            }
            if let plan = self.plan(lane, &entry, at: now, allowance: allowance) {
                if isQuantumSpent(entry) { rings[depth.rawValue][urgency].rotate() }
                // The answer says whether there are more rows.
                if depth == .shallow { entry.isReady = false }
                entries[lane] = entry
                return plan
            }
            entries[lane] = entry
            rings[depth.rawValue][urgency].rotate()
        }
        return nil
    }

    /// A quantum is spent when less than half of it is left. A row larger than the quantum leaves a debt, which is taken from the
    /// next ones.
    private func isQuantumSpent(_ entry: Entry) -> Bool { entry.deficit * 2 < quantum }

    private func plan(
        _ lane: Lane,
        _ entry: inout Entry,
        at now: MonotonicInstant,
        allowance: Allowance
    ) -> ClaimPlan? {
        guard case .pushes(let room, let most) = allowance, entry.depth == .deep || entry.asked == 0 else { return nil }
        if isQuantumSpent(entry) { entry.deficit += quantum }
        guard !isQuantumSpent(entry) else { return nil }
        // The number of rows in a shallow lane is unknown, so its claim takes little room.
        let size = entry.depth == .deep ? quantum : max(1, quantum / Self.caution)
        let wanted = max(entry.nextRowPushes, min(size, entry.deficit, most))
        guard wanted <= room else { return nil }
        let rows = min(entry.mostRows, max(1, Int((Double(wanted) / max(1, entry.pushesPerRow)).rounded(.up))))
        entry.deficit -= wanted
        entry.asked += 1
        return ClaimPlan(
            lane: lane,
            depth: entry.depth,
            floor: entry.depth == .deep ? entry.floor.start(at: now) : entry.floor.position,
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
        rings[entry.depth.rawValue][lane.urgency].append(lane)
    }
}

import CarillonIO

/// What a worker knows of one lane: where its rows begin, how large they are, and how much may be claimed.
///
/// A function that returns a `Bool` says whether the lane joins the ring of its depth.
struct LaneState: Sendable {
    /// A claim of a shallow lane, whose number of rows is unknown, takes this fraction of the quantum: 1/16.
    static let caution = 16
    /// How long an idle lane is remembered, with its floor.
    private static let memory = Duration.seconds(10)
    private static let beginning = ScanFloor(at: Int64.min, leastRows: 4096)

    private(set) var depth = Lane.Depth.shallow
    private(set) var isReady = false
    /// Rows were claimed.
    private var wasServed = false
    /// Rows came again after those that were claimed.
    private(set) var isRegular = false
    private var floor = LaneState.beginning
    /// Pushes that may be claimed before the next lane is served. A row larger than that leaves a debt: then it is negative.
    private var credit = 0
    /// Claims that have not returned. Those of a deep lane may overlap.
    private var asked = 0
    /// The average of the latest claims.
    private var pushesPerRow = 0.0
    private var nextRowPushes = 1
    /// How many rows the server has memory for, as far as claims have shown.
    private var maxRows = ClaimPlan.largest
    private var usedAt: MonotonicInstant

    init(at now: MonotonicInstant) { usedAt = now }

    /// No claim sees rows below this id. Nil if claims see all rows.
    var risenFloor: Int64? { floor.isLow ? nil : floor.position }

    /// Where looks begin. They skip a deep lane with a claim under way: it is known to have rows, and they would walk over all
    /// that were just claimed. Nil if they begin at the beginning.
    var lookFloor: Int64? { depth == .deep && asked > 0 ? .max : risenFloor }

    /// It has rows, or may have.
    var isInUse: Bool { isReady || asked > 0 }

    func isForgotten(at now: MonotonicInstant) -> Bool { !isInUse && now - usedAt >= Self.memory }

    // MARK: Events

    /// A look found rows. A claim of a shallow lane that is under way takes them.
    mutating func found(at now: MonotonicInstant) -> Bool {
        usedAt = now
        return asked == 0 || depth == .deep ? becameReady() : false
    }

    /// Rows went back.
    mutating func returned(lowest: Int64) -> Bool {
        floor.lower(to: lowest)
        return becameReady()
    }

    /// Rows went back, and are left to a later look.
    mutating func lowerFloor(to lowest: Int64) -> Bool {
        floor.lower(to: lowest)
        return false
    }

    /// A claim has returned. The lane stays ready if it may have more rows, and its depth may have changed.
    /// - Parameters:
    ///   - lowest: The lowest id.
    ///   - next: The pushes of the next row, if it did not fit.
    mutating func claimed(
        _ plan: ClaimPlan,
        rows: Int,
        pushes: Int,
        lowest: Int64?,
        next: Int?,
        at now: MonotonicInstant
    ) -> Bool {
        asked -= 1
        usedAt = now
        credit += Int(plan.pushes) - pushes
        maxRows = min(ClaimPlan.largest, maxRows * 2)
        nextRowPushes = max(1, next ?? 1)
        if rows > 0 {
            wasServed = true
            let ratio = Double(pushes) / Double(rows)
            pushesPerRow = pushesPerRow == 0 ? ratio : (pushesPerRow + ratio) / 2
        }
        // The floor may have risen since the claim was planned.
        if let lowest, lowest >= floor.position { floor.took(rows, at: lowest, now) }
        if next != nil || rows == Int(plan.rows) {
            depth = .deep
            isReady = true
        } else {
            depth = .shallow
            if asked == 0 {
                isReady = false
                credit = 0
            }
        }
        return isReady
    }

    /// A claim was not made. If it was too large for the server's memory, the next one takes half as many rows.
    mutating func abandoned(_ plan: ClaimPlan, wasTooLarge: Bool) -> Bool {
        asked -= 1
        credit += Int(plan.pushes)
        if wasTooLarge { maxRows = max(1, Int(plan.rows) / 2) }
        return becameReady()
    }

    /// A quarantined claim has ended. More quarantined jobs may be behind it.
    mutating func quarantineEnded(lowest: Int64) -> Bool {
        floor.lower(to: lowest)
        depth = .deep
        isReady = true
        return true
    }

    mutating func forgetFloor() { floor = Self.beginning }

    private mutating func becameReady() -> Bool {
        if wasServed, !isInUse { isRegular = true }
        defer { isReady = true }
        return !isReady
    }

    // MARK: Claims

    /// A quantum is spent when less than half of it is left.
    func hasSpent(_ quantum: Int) -> Bool { credit * 2 < quantum }

    /// The next claim, of up to `limit` pushes or of a single row that has up to `room`. A lane that has spent its quantum gets
    /// another one first. Nil if it still has a debt, has too little room, or is shallow with a claim under way.
    mutating func plan(_ lane: Lane, quantum: Int, room: Int, max limit: Int, at now: MonotonicInstant) -> ClaimPlan? {
        guard depth == .deep || asked == 0 else { return nil }
        if hasSpent(quantum) { credit += quantum }
        guard !hasSpent(quantum) else { return nil }
        let size = depth == .deep ? quantum : max(1, quantum / Self.caution)
        let pushes = max(nextRowPushes, min(size, credit, limit))
        guard pushes <= room else { return nil }
        credit -= pushes
        asked += 1
        // The rows say whether a shallow lane has more rows.
        if depth == .shallow { isReady = false }
        let rows = (Double(pushes) / max(1, pushesPerRow)).rounded(.up)
        return ClaimPlan(
            lane: lane,
            depth: depth,
            floor: depth == .deep ? floor.start(at: now) : floor.position,
            rows: Int32(min(maxRows, max(1, Int(rows)))),
            pushes: Int32(clamping: pushes)
        )
    }
}

import IO

/// Where looking for jobs that are due begins.
///
/// Jobs that went to the queue stay in the index of `scheduled`, dead, until vacuum removes them, which it cannot while
/// somebody's transaction is long. Once walking over them takes time, each look begins where the one before has ended;
/// now and then it begins at the floor, which lies where looks had ended a quarter of a second before. Jobs that were
/// committed later than that are found by a rare sweep from the beginning. A sweep that was cheap ends all this.
struct DueFloor: Sendable {
    /// What a look may cost: for the dead entries it walks over, and for each job that it moves.
    static let cheap = Duration.milliseconds(1)
    static let cheapForJob = Duration.microseconds(100)
    /// How long a job may take from the drawing of its time to its commit without having to wait for a sweep.
    static let leastAge = Duration.milliseconds(250)
    /// How often a look begins at the floor.
    static let leastPause = Duration.milliseconds(100)

    /// Every look begins at the beginning.
    private(set) var isLow = true
    private var floor = DuePlace.beginning
    /// Where the last look has ended.
    private var tip = DuePlace.beginning
    private var beganAt: MonotonicInstant?
    private var candidate: (place: DuePlace, since: MonotonicInstant)?

    /// Where to begin a look.
    mutating func start(at now: MonotonicInstant) -> DuePlace {
        if isLow { return .beginning }
        if let beganAt, now - beganAt < Self.leastPause { return tip }
        self.beganAt = now
        return floor
    }

    /// A look began there, and has moved jobs to the queue.
    mutating func moved(_ promotion: PromotionAnswer, from start: DuePlace, at now: MonotonicInstant) {
        if start == .beginning {
            let isCheap = promotion.cost <= Self.cheap + Self.cheapForJob * promotion.rows
            if isCheap { self = DueFloor() } else { isLow = false }
        }
        guard !isLow else { return }
        tip = promotion.place
        // A sweep has found so much that it did not get through, or the database's clock was set back.
        if promotion.place < floor {
            floor = promotion.place
            self.candidate = nil
        }
        guard let candidate else {
            self.candidate = (promotion.place, now)
            return
        }
        guard now - candidate.since >= Self.leastAge else { return }
        floor = max(floor, candidate.place)
        self.candidate = (promotion.place, now)
    }
}

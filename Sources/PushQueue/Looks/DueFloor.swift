import CarillonIO
import CarillonPostgres

/// Where a look for due jobs begins: at the beginning while that is cheap, else at a floor. A cheap sweep from the beginning
/// removes the floor.
struct DueFloor: Sendable {
    /// A position in the order in which scheduled jobs become due.
    struct Position: Hashable, Comparable, Sendable {
        static let beginning = Position(time: Moment(.min), id: .min)

        let time: Moment
        let id: Int64

        static func < (left: Self, right: Self) -> Bool { (left.time, left.id) < (right.time, right.id) }
    }

    /// A look is cheap up to this time, plus `cheapForJob` for each job that it moves.
    private static let cheap = Duration.milliseconds(1)
    private static let cheapForJob = Duration.microseconds(100)

    private var floor: ScanFloor<Position>?

    /// Every look begins at the beginning.
    var isLow: Bool { floor == nil }

    mutating func start(at now: MonotonicInstant) -> Position { floor?.start(at: now) ?? .beginning }

    /// A look has moved jobs to the queue.
    mutating func moved(_ promotion: PromotionRows, from start: Position, at now: MonotonicInstant) {
        if start == .beginning {
            let isCheap = promotion.cost <= Self.cheap + Self.cheapForJob * promotion.rows
            floor = isCheap ? nil : floor ?? ScanFloor(at: .beginning)
        }
        // The sweep was not complete, or the database's clock was set back.
        if let lowest = floor?.position, promotion.next < lowest { floor?.lower(to: promotion.next) }
        floor?.took(at: promotion.next, now)
    }
}

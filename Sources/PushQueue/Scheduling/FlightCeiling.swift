import CarillonIO

/// A limit on pushes in flight that the workers of one process share. While one of them finds no room, the others are
/// limited to equal allowances.
package final class FlightCeiling: Sendable {
    package struct Allowance: Sendable {
        let ceiling: FlightCeiling
        let member: Int
    }

    private struct Member {
        var held = 0
        /// Room reserved while the worker plans a claim.
        var reserved = 0
        /// Until when it counts as waiting for room.
        var waitsUntil: MonotonicInstant?
    }

    private let limit: Int
    private let members: Guarded<[Member]>

    package init(limit: Int, workers: Int) {
        self.limit = limit
        members = Guarded(Array(repeating: Member(), count: workers))
    }

    package func allowance(_ member: Int) -> Allowance { Allowance(ceiling: self, member: member) }

    fileprivate func reserve(of member: Int, holding pushes: Int, now: MonotonicInstant) -> Int {
        self.members.withLock { members in
            members[member].held = pushes
            let left = limit - members.reduce(0) { $0 + $1.held + $1.reserved }
            let fair = max(1, limit / members.count)
            if left <= 0, pushes < fair { members[member].waitsUntil = now + .seconds(1) }
            let isWanted = members.indices.contains { other in
                other != member && (members[other].waitsUntil.map { $0 > now } ?? false)
            }
            let room = max(0, isWanted ? min(left, fair - pushes) : left)
            members[member].reserved = room
            return room
        }
    }

    fileprivate func hold(_ pushes: Int, of member: Int) {
        self.members.withLock { members in
            if pushes > members[member].held { members[member].waitsUntil = nil }
            members[member].held = pushes
            members[member].reserved = 0
        }
    }
}

extension FlightCeiling.Allowance {
    /// How many more pushes this worker may claim. They stay reserved until it calls `hold`.
    func reserve(holding pushes: Int, at now: MonotonicInstant) -> Int {
        ceiling.reserve(of: member, holding: pushes, now: now)
    }

    func hold(_ pushes: Int) { ceiling.hold(pushes, of: member) }
}

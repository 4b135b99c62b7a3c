/// Decides when to try which address (RFC 8305, "happy eyeballs"). The families alternate, an attempt starts when the previous one
/// has failed or has had 250 ms, and the first to connect wins.
struct ConnectRace {
    enum Decision: Equatable {
        /// Start an attempt to the address at this index, then ask again.
        case start(Int)
        /// Start nothing before this time; nil if all attempts have started.
        case wait(until: MonotonicInstant?)
        /// Every address failed.
        case giveUp
    }

    struct FailedAttempt {
        let address: SocketAddress
        let errno: CInt
    }

    static let headStart = Duration.milliseconds(250)

    let addresses: [SocketAddress]
    private var started = 0
    private var underWay = 0
    private var nextStart: MonotonicInstant
    private(set) var failures: [FailedAttempt] = []

    init(_ addresses: [SocketAddress], at now: MonotonicInstant) {
        self.addresses = Self.interleaved(addresses)
        nextStart = now
    }

    mutating func decide(at now: MonotonicInstant) -> Decision {
        guard started < addresses.count else { return underWay == 0 ? .giveUp : .wait(until: nil) }
        guard now >= nextStart else { return .wait(until: nextStart) }
        defer { started += 1 }
        underWay += 1
        nextStart = now + Self.headStart
        return .start(started)
    }

    mutating func failed(_ index: Int, errno: CInt, at now: MonotonicInstant) {
        underWay -= 1
        nextStart = min(nextStart, now)
        failures.append(FailedAttempt(address: addresses[index], errno: errno))
    }

    /// Alternates between the families, beginning with the resolver's first choice, and keeps the resolver's order within each.
    private static func interleaved(_ addresses: [SocketAddress]) -> [SocketAddress] {
        guard let first = addresses.first else { return [] }
        let preferred = addresses.filter { $0.family == first.family }
        let others = addresses.filter { $0.family != first.family }
        var mixed: [SocketAddress] = []
        for index in 0..<max(preferred.count, others.count) {
            if index < preferred.count { mixed.append(preferred[index]) }
            if index < others.count { mixed.append(others[index]) }
        }
        return mixed
    }
}

import ApplePushSimulator
import CarillonIO

/// All that the simulator has received in a case, also across restarts, and actions for chosen requests.
final class Arrivals: Sendable {
    enum Moment: Sendable { case received, answered }

    private struct Trap: Sendable {
        let moment: Moment
        let prefix: String
        var remaining: Int
        let action: @Sendable () -> Void
    }

    private struct State {
        var deliveries: [ReceivedRequest] = []
        /// By prefix: how many of the deliveries before a place have such a device token.
        var counts: [String: (place: Int, count: Int)] = [:]
        var answered = 0
        var traps: [Trap] = []
    }

    private let state = Guarded(State())

    /// Runs the action once, at the Nth request from now on to device tokens with the prefix.
    func at(_ number: Int, _ moment: Moment, prefix: String = "", do action: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.traps.append(Trap(moment: moment, prefix: prefix, remaining: number, action: action))
        }
    }

    /// The simulator's observer.
    func note(_ event: SimulatorEvent) {
        let actions = state.withLock { state in
            switch event {
            case .received(let delivery):
                state.deliveries.append(delivery)
                return Self.spring(&state.traps, at: .received, delivery.token)
            case .answered(let delivery):
                state.answered += 1
                return Self.spring(&state.traps, at: .answered, delivery.token)
            }
        }
        for action in actions { action() }
    }

    private static func spring(_ traps: inout [Trap], at moment: Moment, _ token: String) -> [@Sendable () -> Void] {
        guard !traps.isEmpty else { return [] }
        var actions: [@Sendable () -> Void] = []
        for index in traps.indices where traps[index].moment == moment && token.hasPrefix(traps[index].prefix) {
            traps[index].remaining -= 1
            if traps[index].remaining == 0 { actions.append(traps[index].action) }
        }
        traps.removeAll { $0.remaining <= 0 }
        return actions
    }

    var deliveries: [ReceivedRequest] { state.withLock { $0.deliveries } }
    var requests: Int { state.withLock { $0.deliveries.count } }

    /// The number of requests to device tokens with the prefix. It counts only the new ones of each call: cases call it many times
    /// a second.
    func requests(to prefix: String) -> Int {
        state.withLock { state in
            var (place, count) = state.counts[prefix] ?? (0, 0)
            for delivery in state.deliveries[place...] where delivery.token.hasPrefix(prefix) { count += 1 }
            place = state.deliveries.count
            state.counts[prefix] = (place, count)
            return count
        }
    }

    var answers: Int { state.withLock { $0.answered } }
}

import CarillonIO
import Testing

@testable import ApplePush

/// A pool's values with simulated connections: deliveries are added, cancelled and ended in random order, connections
/// open, drain and break as the seed decides.
@Suite struct PoolSimulationTests {
    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func `every push ends exactly once, no cancelled push is sent, and no connection is left open`(seed: UInt64) throws
    {
        let world = try PoolWorld(seed: seed)
        for _ in 0..<1_500 { world.step() }
        world.settleDown()
        #expect(world.faults == [], "seed \(seed)")
        #expect(world.queue.isEmpty && world.queue.waiting == 0, "seed \(seed)")
        #expect(world.ended == world.added, "seed \(seed)")
        #expect(world.sent > 0, "seed \(seed)")
        world.shutDown()
        #expect(world.connections.isEmpty, "seed \(seed): connections are left after the shutdown")
        #expect(world.faults == [], "seed \(seed)")
    }
}

extension PoolState.Action {
    /// A short name.
    var words: String {
        switch self {
        case .dial(let id, _): "dial \(id)"
        case .retire(let id, let end): "retire \(id) \(end.name)"
        case .end(let id, let end): "end \(id) \(end.name)"
        case .forget(let id, let end): "forget \(id) \(end.name)"
        case .giveUpWaiting: "give up"
        case .endPreparing: "end preparing"
        case .fetchToken: "fetch token"
        case .authorize: "authorize"
        }
    }
}

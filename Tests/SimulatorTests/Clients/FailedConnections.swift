import CarillonIO

@testable import ApplePushSimulator

/// The failed connections of a simulator.
final class FailedConnections: Sendable {
    private let list = Guarded<[ConnectionFailure]>([])

    var all: [ConnectionFailure] { list.withLock { $0 } }

    func add(_ failure: ConnectionFailure) { list.withLock { $0.append(failure) } }
}

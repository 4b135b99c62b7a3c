import Synchronization

@testable import Simulator

/// What a simulator said of connections that failed.
final class Failures: Sendable {
    private let list = Mutex<[ConnectionFailure]>([])

    var all: [ConnectionFailure] { list.withLock { $0 } }

    func add(_ failure: ConnectionFailure) { list.withLock { $0.append(failure) } }
}

import Synchronization

/// Which tokens were asked for before.
final class Answered: Sendable {
    private let seen = Mutex<Set<String>>([])

    func isSecond(_ token: String) -> Bool { seen.withLock { !$0.insert(token).inserted } }
}

import CarillonIO

/// What the test has enqueued, recorded after each COMMIT. A case never uses a device token twice, so that each stands for
/// one push.
final class Ledger: Sendable {
    struct Message: Sendable {
        let reference: String
        let tokens: [String]
        /// The payload it was enqueued with, byte for byte.
        let payload: String
        /// `on_unknown = 'retry'`.
        let mayRepeat: Bool
        var topic = Scene.topic
    }

    private struct State {
        var committed: [String: Message] = [:]
        var maybe: [String: Message] = [:]
    }

    private let state = Guarded(State())

    func committed(_ messages: [Message]) {
        state.withLock { state in
            for message in messages { state.committed[message.reference] = message }
        }
    }

    /// Records messages whose COMMIT has an unknown outcome: all or none of their pushes may be sent.
    func unsure(_ messages: [Message]) {
        state.withLock { state in
            for message in messages { state.maybe[message.reference] = message }
        }
    }

    /// By their references.
    var committed: [String: Message] { state.withLock { $0.committed } }
    var maybe: [String: Message] { state.withLock { $0.maybe } }

    /// How many pushes were committed for certain.
    var pushes: Int { committed.values.reduce(0) { $0 + $1.tokens.count } }
}

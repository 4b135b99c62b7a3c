import CarillonIO

/// The simulator's dead device tokens. The services and the test's own threads share the list.
final class SharedDeadTokenList: Sendable {
    let list = Guarded(DeadTokenList())
}

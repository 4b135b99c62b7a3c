/// The topics that a connection with provider tokens may push to. Apple binds them at the connection's first push: an app that is
/// added to the key later requires a new connection.
struct BoundTopics: Sendable {
    /// How many of the simulator's topics were known at the first push.
    var known: Int
    /// The topics of a topic-specific key; empty for a key of the whole team.
    var ofKey: [[UInt8]] = []

    func refusal(of app: Span<UInt8>, among topics: [[UInt8]]) -> APNsRefusal? {
        if !ofKey.isEmpty, !ofKey.contains(where: { app.equals($0.span) }) { return .topicOfOtherKey }
        if topics.isEmpty { return nil }
        guard let index = topics.firstIndex(where: { app.equals($0.span) }) else { return .topicDisallowed }
        return index < known ? nil : .topicAddedLater
    }
}

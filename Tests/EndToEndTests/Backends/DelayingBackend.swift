import ApplePush

/// A backend that holds pushes up on their way to a recorded one, and keeps no connections.
protocol DelayingBackend: Backend {
    var recorded: RecordedBackend { get }
}

extension DelayingBackend {
    func feedback(from gateway: Gateway, with credential: Credential) async throws(PushError) -> LegacyFeedbackList {
        try await recorded.feedback(from: gateway, with: credential)
    }

    func separate() -> Self { self }
    func outdate(idle: Duration) async {}
}

/// The pace at which a worker sends statements that PostgreSQL is likely to refuse. All of its statements share it.
package struct WebhookTries: Sendable {
    /// Takes a try; if there is none now, returns the wait until there is.
    let take: @Sendable () async -> Duration?
    /// A statement was refused that was not sent as a try.
    let spend: @Sendable () async -> Void

    package init(take: @escaping @Sendable () async -> Duration?, spend: @escaping @Sendable () async -> Void) {
        self.take = take
        self.spend = spend
    }
}

/// The channels of apps, which a test can also create and remove without a request.
extension APNsSimulator {
    /// The IDs of an app's channels, in the order of their creation.
    public func channels(of app: String) -> [String] { channelTable.list(of: app) }

    /// Creates a channel, and returns its ID.
    ///
    /// - Parameters:
    ///   - app: The bundle ID of the app.
    ///   - storesMessages: Whether the last message is kept for devices that are offline (Apple's message storage policy 1).
    public func addChannel(to app: String, storesMessages: Bool = false) throws(SimulatorError) -> String {
        guard let channel = channelTable.create(for: app, storesMessages: storesMessages) else {
            throw SimulatorError(
                .unavailable,
                "The app \(app) has \(ChannelTable.limit) channels, which is Apple's limit: remove one first."
            )
        }
        return channel.id
    }

    /// Removes a channel. Returns false if the app has no such channel.
    @discardableResult
    public func removeChannel(_ id: String, of app: String) -> Bool { channelTable.remove(id, of: app) }
}

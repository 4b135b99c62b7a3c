/// A request to Apple's channel service, and its answer.
public struct ChannelRequest: Hashable, Sendable {
    /// What is asked for.
    public enum Action: Hashable, Sendable {
        /// Creates a channel.
        case create(MessageStoragePolicy)
        /// Asks for the settings of a channel.
        case read(ChannelID)
        /// Removes a channel. Messages already published to it are no longer delivered.
        case remove(ChannelID)
        /// Asks for all channels of the app.
        case list
    }

    /// The answer to a request that was carried out.
    public enum Answer: Hashable, Sendable {
        /// The new channel.
        case created(ChannelID)
        /// The channel exists.
        case found(MessageStoragePolicy)
        /// The channel no longer exists.
        case removed
        /// All channels of the app.
        case list([ChannelID])
    }

    /// The bundle ID of the app.
    public let app: String

    /// What is asked for.
    public let action: Action

    /// The identity of the request, sent as `apns-request-id`.
    public let id: PushID

    /// A request about channels of the app with that bundle ID.
    public init(_ action: Action, of app: String, id: PushID = .random()) {
        self.app = app
        self.action = action
        self.id = id
    }
}

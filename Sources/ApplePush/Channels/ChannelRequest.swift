/// A request to Apple's channel service, and what it answers.
public struct ChannelRequest: Hashable, Sendable {
    /// What is asked for.
    public enum Action: Hashable, Sendable {
        /// Makes a channel.
        case create(MessageStoragePolicy)
        /// Asks for the settings of a channel.
        case read(ChannelID)
        /// Removes a channel. What was published to it is no longer delivered.
        case remove(ChannelID)
        /// Asks for all channels of the app.
        case list
    }

    /// What a request that was carried out is answered with.
    public enum Answer: Hashable, Sendable {
        /// The new channel.
        case created(ChannelID)
        /// The channel exists.
        case found(MessageStoragePolicy)
        /// The channel exists no longer.
        case removed
        /// All channels of the app.
        case list([ChannelID])
    }

    /// The bundle identifier of the app.
    public let app: String

    /// What is asked for.
    public let action: Action

    /// The identity of the request, sent as `apns-request-id`.
    public let id: PushID

    /// A request about channels of the app with that bundle identifier.
    public init(_ action: Action, of app: String, id: PushID = .random()) {
        self.app = app
        self.action = action
        self.id = id
    }
}

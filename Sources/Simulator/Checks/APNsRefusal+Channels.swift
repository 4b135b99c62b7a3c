import CarillonPushRules

/// The causes for which requests about channels are refused.
extension APNsRefusal {
    /// Slow, but read only once per case, when the answers are created.
    var descriptionOfChannelRefusal: (status: UInt16, reason: StaticString?, detail: String) {
        switch self {
        case .methodHasNoChannelAction:
            (405, "MethodNotAllowed", "/channels takes POST, GET and DELETE, and /all-channels takes GET.")
        case .badRequestParameters: (400, "BadRequestParams", "The path of a request about channels has no query.")
        case .badRequestID:
            (400, "BadMessageId", "apns-request-id must be a UUID: 8-4-4-4-12 hexadecimal digits in lower case.")
        case .topicMismatch:
            (403, "TopicMismatch", "The client certificate does not name the bundle ID in the path.")
        case .appDisallowed: (400, "TopicDisallowed", "--allow-topic does not name the bundle ID in the path.")
        case .missingChannelID: (400, "MissingChannelId", "There is no apns-channel-id.")
        case .badChannelID: (400, "BadChannelId", "The app never had the channel in apns-channel-id.")
        case .channelNotRegistered: (400, "ChannelNotRegistered", "The channel in apns-channel-id was removed.")
        case .noChannelToRemove: (404, "BadPath", "The app has no such channel that could be removed.")
        case .missingPushType:
            (
                400, "MissingPushType",
                "A broadcast needs apns-push-type: liveactivity, and a new channel \"push-type\":\"LiveActivity\"."
            )
        case .notLiveActivity:
            (
                400, "InvalidPushType",
                "The push type of a broadcast must be liveactivity, and that of a new channel LiveActivity."
            )
        case .broadcastWithoutExpiration: (400, "BadExpirationDate", "A broadcast needs apns-expiration.")
        case .nothingIsStored:
            (400, "BadExpirationDate", "apns-expiration must be 0 for a channel that stores no messages (policy 0).")
        case .badRequestPayload: (400, "BadRequestPayload", "The body is not the JSON that this request requires.")
        case .startByBroadcast: (400, "BadRequestPayload", "A broadcast cannot start a Live Activity.")
        case .broadcastTooLarge:
            (
                413, "PayloadTooLarge",
                "The body is longer than the \(PushTypeRules.channel.payloadLimit) bytes of a broadcast."
            )
        case .missingChannelQueueSize: (400, "MissingChannelQueueSize", "There is no message-storage-policy.")
        case .badStoragePolicy: (400, "BadRequestPayload", "message-storage-policy must be 0 or 1.")
        case .tooManyChannels: (400, "CannotCreateChannelConfig", "The app has 10,000 channels, and may have no more.")
        default:
            (
                404, "BadPath",
                "The path must be /4/broadcasts/apps/ and a bundle ID at the gateway; at the channel service, /1/apps/, a "
                    + "bundle ID, and /channels or /all-channels."
            )
        }
    }
}

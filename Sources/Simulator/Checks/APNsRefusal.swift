import CarillonPushRules

/// Each cause for which the simulator itself refuses a request. Several causes share one of Apple's reasons.
///
/// Reasons that only rules can give (`Unregistered`, `TooManyRequests`, `Shutdown`) are texts in ``AnswerRule``.
enum APNsRefusal: UInt8, CaseIterable, Error, Sendable {
    // The route.
    case duplicateHeaders, headerListTooLarge, methodNotAllowed, badPath, missingDeviceToken
    // The client certificate.
    case badCertificate, badCertificateEnvironment
    // The provider token.
    case missingProviderToken, malformedToken, paddedToken, tokenBase64, tokenAlgorithm, tokenWithoutKeyID
    case tokenWithoutTeamID, tokenWithoutTime, tokenInMilliseconds, tokenFromFuture, tokenSignatureLength
    case derSignature, quotedIssueTime, unknownKey, unknownTeam, tokenSignature, keyTaken, invalidProviderToken
    case badEnvironmentKeyIDInToken, expiredProviderToken, otherTeam, unrelatedKeyIDInToken
    case tooManyProviderTokenUpdates
    // The other header fields, the payload and the device token.
    case badMessageID, badExpirationDate, badCollapseID, invalidPushType, badPriority, badDefaultPriority
    case missingTopic, badTopic, topicDisallowed, topicAddedLater, topicOfOtherKey, topicOfCertificate
    case payloadEmpty, payloadTooLarge, badDeviceToken
    case deviceTokenNotForTopic
    // Broadcasts and channels.
    case badChannelPath, methodHasNoChannelAction, badRequestParameters, badRequestID, topicMismatch, appDisallowed
    case missingChannelID, badChannelID, channelNotRegistered, noChannelToRemove, missingPushType, notLiveActivity
    case broadcastWithoutExpiration, nothingIsStored, badRequestPayload, startByBroadcast, broadcastTooLarge
    case missingChannelQueueSize, badStoragePolicy, tooManyChannels

    var status: UInt16 { description.status }
    /// Apple's reason; nil for 431, which Apple does not document.
    var reason: StaticString? { description.reason }
    /// A sentence for the log, because one reason may have several causes.
    var detail: String { description.detail }

    /// Slow, but read only once per case, when the answers are created.
    private var description: (status: UInt16, reason: StaticString?, detail: String) {
        switch self {
        case .duplicateHeaders:
            (400, "DuplicateHeaders", "A header field that APNs reads came more than once.")
        case .headerListTooLarge:
            (
                431, nil,
                "There are more than 64 header fields, or more than the 8,000 bytes of SETTINGS_MAX_HEADER_LIST_SIZE, "
                    + "where each field counts 32 bytes more."
            )
        case .methodNotAllowed: (405, "MethodNotAllowed", "The method must be POST.")
        case .badPath: (404, "BadPath", "The path must be /3/device/ and the device token.")
        case .missingDeviceToken: (400, "MissingDeviceToken", "The path ends before the device token.")
        case .badCertificate: (403, "BadCertificate", "The client certificate is not valid yet.")
        case .badCertificateEnvironment:
            (403, "BadCertificateEnvironment", "The client certificate is for the other environment.")
        case .missingProviderToken:
            (
                403, "MissingProviderToken",
                "There is no client certificate, and no authorization field with the word bearer and a provider token."
            )
        case .malformedToken:
            Self.invalidToken(
                "The provider token is not a JSON Web Token: three parts in base64url with dots between them, of which "
                    + "the first two are JSON objects."
            )
        case .paddedToken: Self.invalidToken("The provider token has base64 padding (=); a JSON Web Token has none.")
        case .tokenBase64:
            Self.invalidToken("The provider token has + or /, as base64 does; a JSON Web Token has - and _.")
        case .tokenAlgorithm:
            Self.invalidToken("The provider token's header needs \"alg\":\"ES256\".")
        case .tokenWithoutKeyID: Self.invalidToken("The provider token's header has no kid that is a string.")
        case .tokenWithoutTeamID:
            Self.invalidToken("The provider token's claims have no iss that is a string.")
        case .tokenWithoutTime:
            Self.invalidToken("The provider token's claims have no iat that is a number of seconds since 1970.")
        case .tokenInMilliseconds:
            Self.invalidToken("The provider token's iat is in milliseconds; it must be in seconds.")
        case .tokenFromFuture:
            Self.invalidToken("The provider token's iat is over a minute ahead of the simulator's clock.")
        case .tokenSignatureLength:
            Self.invalidToken(
                "The provider token's signature is neither 64 bytes long nor DER; ES256 needs a key on the curve P-256."
            )
        case .derSignature:
            Self.invalidToken("The provider token's signature is DER; a JSON Web Token has r and s in 64 bytes.")
        case .quotedIssueTime: Self.invalidToken("The provider token's iat is a string; a JSON Web Token has a number.")
        case .unknownKey: Self.invalidToken("The provider token's kid is not that of --key-id.")
        case .unknownTeam: Self.invalidToken("The provider token's iss is not that of --team-id.")
        case .tokenSignature:
            Self.invalidToken(
                "The provider token's signature does not match this key, or does not match its header and claims."
            )
        case .keyTaken:
            Self.invalidToken(
                "Until the simulator ends, this kid belongs to the key and the iss of the first provider token that had "
                    + "it. This one has another key or iss, or one of the two signatures is wrong. Use another kid, or give "
                    + "the key with --file, which finds out."
            )
        case .invalidProviderToken:
            Self.invalidToken("More keys have signed provider tokens than the simulator remembers.")
        case .badEnvironmentKeyIDInToken:
            (403, "BadEnvironmentKeyIdInToken", "The provider token's key is for the other environment.")
        case .expiredProviderToken:
            (403, "ExpiredProviderToken", "The provider token's iat is an hour old or older.")
        case .otherTeam: Self.invalidToken("The connection belongs to the team (iss) of its first push.")
        case .unrelatedKeyIDInToken:
            (
                403, "UnrelatedKeyIdInToken",
                "The connection belongs to the key (kid) of its first push, and this key is not related to it."
            )
        case .tooManyProviderTokenUpdates:
            (
                429, "TooManyProviderTokenUpdates",
                "The connection had another provider token less than 20 minutes ago, by the clock or by iat."
            )
        case .badMessageID:
            (400, "BadMessageId", "apns-id must be a UUID: 8-4-4-4-12 hexadecimal digits in lower case.")
        case .badExpirationDate: (400, "BadExpirationDate", "apns-expiration must be seconds since 1970 in digits.")
        case .badCollapseID: (400, "BadCollapseId", "apns-collapse-id is empty or too long.")
        case .invalidPushType:
            (400, "InvalidPushType", "Apple has no such apns-push-type, or it does not fit the topic.")
        case .badPriority:
            (400, "BadPriority", "apns-priority is not one that a push of this type, or a broadcast, may have.")
        case .badDefaultPriority:
            (400, "BadPriority", "Without apns-priority a push has priority 10, which one of this type may not have.")
        case .missingTopic:
            (400, "MissingTopic", "Only a client certificate with exactly one topic may leave apns-topic out.")
        case .badTopic:
            (400, "BadTopic", "A topic has 1 to 255 letters, digits, dots, hyphens and underscores.")
        case .topicDisallowed:
            (400, "TopicDisallowed", "The credential, or the push type, does not allow this topic.")
        case .topicAddedLater:
            (
                400, "TopicDisallowed",
                "The topic was added after this connection's first push, which bound its topics: open a new connection."
            )
        case .topicOfOtherKey: (400, "TopicDisallowed", "The key of the provider token is for other topics.")
        case .topicOfCertificate:
            (
                400, "TopicDisallowed",
                "The topic is that of a certificate for device management, for which no provider token stands."
            )
        case .payloadEmpty: (400, "PayloadEmpty", "The body is empty, or not a JSON object.")
        case .payloadTooLarge:
            (413, "PayloadTooLarge", "The body is longer than a push of this type may be.")
        case .badDeviceToken: (400, "BadDeviceToken", "A device token has 32 to 100 bytes in hexadecimal digits.")
        case .deviceTokenNotForTopic:
            (400, "DeviceTokenNotForTopic", "The device token was first accepted for another topic.")
        case .badChannelPath:
            (
                404, "BadPath",
                "The path must be /4/broadcasts/apps/ and a bundle ID at the gateway; at the channel service, /1/apps/, a "
                    + "bundle ID, and /channels or /all-channels."
            )
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
        }
    }

    private static func invalidToken(_ detail: String) -> (UInt16, StaticString?, String) {
        (403, "InvalidProviderToken", detail)
    }
}

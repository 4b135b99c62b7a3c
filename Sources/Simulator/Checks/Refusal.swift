/// Every reason that the simulator itself can have to refuse a request, in Apple's words and with Apple's status.
///
/// Reasons that only a rule brings (`Unregistered`, `TooManyRequests`, `Shutdown`…) are text in ``AnswerRule``.
enum Refusal: UInt8, CaseIterable, Error, Sendable {
    case badCollapseID
    case badDeviceToken
    case badExpirationDate
    case badMessageID
    case badPriority
    case badDefaultPriority
    case badTopic
    case deviceTokenNotForTopic
    case duplicateHeaders
    case invalidPushType
    case missingDeviceToken
    case missingTopic
    case payloadEmpty
    case topicDisallowed
    case badCertificate
    case badCertificateEnvironment
    case badEnvironmentKeyIDInToken
    case expiredProviderToken
    case invalidProviderToken
    case derSignature
    case quotedIssueTime
    case missingProviderToken
    case unrelatedKeyIDInToken
    case badPath
    case methodNotAllowed
    case payloadTooLarge
    case headerListTooLarge
    case tooManyProviderTokenUpdates

    var status: UInt16 {
        switch self {
        case .badCollapseID, .badDeviceToken, .badExpirationDate, .badMessageID, .badPriority, .badDefaultPriority,
            .badTopic, .deviceTokenNotForTopic, .duplicateHeaders, .invalidPushType, .missingDeviceToken, .missingTopic,
            .payloadEmpty, .topicDisallowed:
            400
        case .badCertificate, .badCertificateEnvironment, .badEnvironmentKeyIDInToken, .expiredProviderToken,
            .invalidProviderToken, .derSignature, .quotedIssueTime, .missingProviderToken, .unrelatedKeyIDInToken:
            403
        case .badPath: 404
        case .methodNotAllowed: 405
        case .payloadTooLarge: 413
        case .tooManyProviderTokenUpdates: 429
        case .headerListTooLarge: 431
        }
    }

    /// Nil for the one that HTTP itself has, of which Apple says nothing.
    var reason: StaticString? {
        switch self {
        case .badCollapseID: "BadCollapseId"
        case .badDeviceToken: "BadDeviceToken"
        case .badExpirationDate: "BadExpirationDate"
        case .badMessageID: "BadMessageId"
        case .badPriority, .badDefaultPriority: "BadPriority"
        case .badTopic: "BadTopic"
        case .deviceTokenNotForTopic: "DeviceTokenNotForTopic"
        case .duplicateHeaders: "DuplicateHeaders"
        case .invalidPushType: "InvalidPushType"
        case .missingDeviceToken: "MissingDeviceToken"
        case .missingTopic: "MissingTopic"
        case .payloadEmpty: "PayloadEmpty"
        case .topicDisallowed: "TopicDisallowed"
        case .badCertificate: "BadCertificate"
        case .badCertificateEnvironment: "BadCertificateEnvironment"
        case .badEnvironmentKeyIDInToken: "BadEnvironmentKeyIdInToken"
        case .expiredProviderToken: "ExpiredProviderToken"
        case .invalidProviderToken, .derSignature, .quotedIssueTime: "InvalidProviderToken"
        case .missingProviderToken: "MissingProviderToken"
        case .unrelatedKeyIDInToken: "UnrelatedKeyIdInToken"
        case .badPath: "BadPath"
        case .methodNotAllowed: "MethodNotAllowed"
        case .payloadTooLarge: "PayloadTooLarge"
        case .tooManyProviderTokenUpdates: "TooManyProviderTokenUpdates"
        case .headerListTooLarge: nil
        }
    }

    /// What Apple's word leaves open, for the log.
    var detail: String? {
        switch self {
        case .badDefaultPriority: "A background push without apns-priority counts as one of 10, and may only have 5."
        case .derSignature: "The signature of the provider token is DER; a JSON Web Token has r and s in 64 bytes."
        case .quotedIssueTime: "The provider token's iat is a string; a JSON Web Token has a number."
        case .deviceTokenNotForTopic: "The device token was first taken for another topic."
        case .headerListTooLarge:
            "There are more than 64 header fields, or more than the 8,000 bytes of SETTINGS_MAX_HEADER_LIST_SIZE, "
                + "where each field counts 32 bytes more."
        default: nil
        }
    }
}

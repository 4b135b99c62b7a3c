extension Refusal {
    /// What Apple's word leaves open, for the log. Each is read once, when the answers are made.
    var detail: String {
        tokenDetail ?? requestDetail
    }

    private var tokenDetail: String? {
        switch self {
        case .expiredProviderToken: "The provider token's iat is an hour old or older."
        case .invalidProviderToken: "More keys have signed provider tokens than the simulator remembers."
        case .malformedToken:
            "The provider token is no JSON Web Token: three parts in base64url, with dots between them, of which two are "
                + "JSON objects."
        case .paddedToken: "The provider token has the padding (=) of base64; a JSON Web Token has none."
        case .tokenBase64: "The provider token has the + or / of base64; a JSON Web Token has base64url, with - and _."
        case .tokenAlgorithm: "The provider token's header needs \"alg\":\"ES256\"."
        case .tokenWithoutKeyID: "The provider token's header has no kid, which is a string."
        case .tokenWithoutTeamID: "The provider token's claims have no iss, which is a string: the team's ID."
        case .tokenWithoutTime: "The provider token's claims have no iat, which is a number of seconds since 1970."
        case .tokenInMilliseconds: "The provider token's iat is in milliseconds; it is seconds since 1970."
        case .tokenFromFuture: "The provider token's iat is more than a minute ahead of the simulator's clock."
        case .tokenSignature: "The provider token's signature is not of this key, or not of this header and claims."
        case .tokenSignatureLength:
            "The provider token's signature has not the 64 bytes of ES256, nor is it DER: ES256 takes a key of the curve P-256."
        case .otherTeam: "The connection belongs to the team (iss) of its first push."
        case .unknownKey: "The provider token's kid is not that of --key-id."
        case .unknownTeam: "The provider token's iss is not that of --team-id."
        case .keyTaken:
            "This kid belongs, until the simulator ends, to the key and the iss of the first token that had it. Either this "
                + "token is of another key or iss, or the signature of one of the two is wrong: use another kid, or name the "
                + "key with --file, which tells."
        case .derSignature: "The signature of the provider token is DER; a JSON Web Token has r and s in 64 bytes."
        case .quotedIssueTime: "The provider token's iat is a string; a JSON Web Token has a number."
        case .missingProviderToken:
            "There is neither a client certificate nor a field authorization with the word bearer and a provider token."
        case .unrelatedKeyIDInToken: "The connection belongs to the key (kid) of its first push."
        case .badEnvironmentKeyIDInToken: "The key of the provider token is for the other environment."
        case .tooManyProviderTokenUpdates:
            "The connection had another provider token less than 20 minutes ago, by the clock or by iat."
        default: nil
        }
    }

    private var requestDetail: String {
        switch self {
        case .badCertificate: "The client certificate is not valid yet."
        case .badCertificateEnvironment: "The client certificate is for the other environment."
        case .badCollapseID: "apns-collapse-id has 1 to 64 bytes."
        case .badDeviceToken: "A device token is 32 to 100 bytes in hexadecimal digits."
        case .badExpirationDate: "apns-expiration is seconds since 1970 in digits."
        case .badMessageID: "apns-id is a UUID, 8-4-4-4-12 hexadecimal digits, and in lower case."
        case .badPath: "The path is /3/device/ with the device token."
        case .badPriority: "apns-priority is 10, 5 or 1; 5 for a background push, 10 or 5 for a Live Activity."
        case .badDefaultPriority: "A background push without apns-priority counts as one of 10, and may only have 5."
        case .badTopic: "A topic has 1 to 255 letters, digits, dots, hyphens and underscores."
        case .deviceTokenNotForTopic: "The device token was first taken for another topic."
        case .duplicateHeaders:
            "One of authorization, apns-id, apns-topic, apns-push-type, apns-priority, apns-expiration and "
                + "apns-collapse-id came more than once."
        case .headerListTooLarge:
            "There are more than 64 header fields, or more than the 8,000 bytes of SETTINGS_MAX_HEADER_LIST_SIZE, "
                + "where each field counts 32 bytes more."
        case .invalidPushType: "apns-push-type is none of Apple's eleven, or the topic ends as that of another one."
        case .methodNotAllowed: "The method is POST."
        case .missingDeviceToken: "The path ends before the device token."
        case .missingTopic: "Only a client certificate with exactly one topic may leave apns-topic out."
        case .payloadEmpty: "The body is empty, or it is no JSON object."
        case .payloadTooLarge: "The body is longer than 4,096 bytes, or 5,120 for voip."
        case .topicDisallowed:
            "The client certificate or --allow-topic does not name the topic, the topic lacks the ending of its push "
                + "type, or the push type location came without a provider token."
        default: ""
        }
    }
}

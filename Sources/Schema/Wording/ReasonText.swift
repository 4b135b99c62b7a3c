import CarillonText

/// Explains the reason of a failure in plain words, and says what to do about it.
package enum ReasonText {
    private static let meanings: [String: String] = [
        "Unregistered":
            "The app was removed from the device, or no longer accepts notifications: the device token is dead.",
        "ExpiredToken": "The device token is no longer valid: the app was removed, or the device was restored.",
        "BadDeviceToken":
            "APNs does not know this device token in this environment: it may belong to the sandbox or to another app.",
        "DeviceTokenNotForTopic": "The device token belongs to an app other than the one in the topic.",
        "TopicDisallowed": "The credential may not send to this topic.",
        "BadTopic": "APNs does not know the topic.",
        "MissingTopic": "The message names no topic, and the credential is for several.",
        "BadCollapseId": "The collapse id is longer than 64 bytes.",
        "BadExpirationDate": "The expiry is not a valid time.",
        "BadMessageId": "The apns-id is not a UUID.",
        "BadPriority": "The push type does not allow this priority.",
        "InvalidPushType": "The push type does not fit the topic or the payload.",
        "PayloadEmpty": "The message has no payload, or none for this device token.",
        "MismatchedPayloads":
            "The row does not have one payload for each token, or has both payload and payloads.",
        "PayloadTooLarge": "The payload is larger than the push type allows.",
        "TooManyProviderTokenUpdates": "Too many new provider tokens were made with the signing key.",
        "ExpiredProviderToken": "The provider token was too old.",
        "InvalidProviderToken": "APNs refused the signing key, its key id or its team id.",
        "MissingProviderToken": "No credential was sent with the push.",
        "BadCertificate": "APNs refused the certificate.",
        "BadCertificateEnvironment": "The certificate is for the other environment.",
        "Forbidden": "APNs does not allow this credential to send the push.",
        "TooManyRequests": "Too many pushes were sent to this device token within a short time.",
        "InternalServerError": "APNs had an internal error at the last attempt.",
        "ServiceUnavailable": "APNs was unavailable at the last attempt.",
        "Shutdown": "The APNs server was stopping at the last attempt.",
        "DuplicateHeaders": "A header was sent twice.",
        "MissingDeviceToken": "The request had no device token.",
        "BadPath": "The gateway does not know the path of the request: it may be another kind of server.",
        "MethodNotAllowed": "The gateway does not accept POST: it may be another kind of server.",
        "MalformedHeader": "The topic or another field has characters that are not allowed in a header.",
        "BadEnvironmentKeyIdInToken": "The signing key is for the other environment.",
        "BadEnvironmentKeyInToken": "The signing key is for the other environment.",
        "UnrelatedKeyIdInToken": "The connection was opened for a team or topic other than that of the signing key.",
        "IdleTimeout": "The connection had been idle for too long.",
        "BadChannelId": "There is no channel with this id.",
        "ChannelNotRegistered": "The channel was removed, or belongs to another app or environment.",
        "MissingChannelId": "The push did not name a channel.",
        "MissingChannelQueueSize": "The request for a channel had no storage policy.",
        "CannotCreateChannelConfig": "APNs could not create the channel: the app may have too many.",
        "BadRequestParams": "APNs refused a parameter of the request.",
        "BadRequestPayload": "APNs refused the body of the request.",
        "BroadcastFeatureNotEnabled": "The Broadcast capability is not enabled for this app at Apple.",
        "FeatureNotEnabled": "The Broadcast capability is not enabled for this app at Apple.",
        "MissingPushType": "The request had no push type.",
        "TopicMismatch": "The credential is not for the topic of the request.",
        "OutcomeUnknown":
            "An attempt got no answer, and may have arrived. It is repeated only if on_unknown and the number of attempts allow.",
        "Unrecorded": "PostgreSQL refused to record its outcome; the status is what APNs answered, if it was sent.",
        "Unqueued": "PostgreSQL refused the row of its retry.",
        "Poison": "Several workers died with this push in flight, so it is not tried again.",
        "Unreadable": "The row is too large for the server to read.",
        "UnknownApp": "The message names an app that does not exist.",
        "MalformedToken": "The device token does not consist of 1 to 256 bytes in hexadecimal.",
        "MalformedPayload": "The payload is not a JSON object.",
        "TopicNotAllowed": "The topic is not one that messages of this app may name.",
        "MalformedTopic": "The topic is too long, or has characters that are not allowed.",
        "MalformedCollapseId": "The collapse id is too long, or has characters that are not allowed.",
        "UnknownPriority": "The priority is not one that the push type allows.",
        "UnknownPushType": "Carillon does not know this push type, and the message names no topic.",
        "MalformedOnUnknown": "on_unknown is neither retry nor fail.",
    ]

    package static func meaning(of reason: String) -> String {
        meanings[reason] ?? "The gateway gave this reason, which Carillon cannot explain."
    }

    /// What to do when pushes of an app fail for a reason that its settings cause. Nil if they are not the cause, or the reason does
    /// not tell.
    package static func remedy(for reason: String, of app: String) -> String? {
        change(for: reason, of: app).map {
            "\($0) Then send them again: 'carillon failures requeue --app \(app.shellQuoted) --reason \(reason.shellQuoted)'."
        }
    }

    /// The first sentence of the remedy.
    package static func change(for reason: String, of app: String) -> String? {
        let set = "carillon app set \(app.shellQuoted)"
        return switch reason {
        case "TopicDisallowed", "BadTopic":
            "Set the right topic, '\(set) --topic TOPIC', or import a credential for it."
        case "DeviceTokenNotForTopic": "Set the topic of the app that the tokens are from: '\(set) --topic TOPIC'."
        case "MissingTopic": "Name a topic: '\(set) --topic TOPIC'."
        case "BadDeviceToken":
            "If the tokens are of the other environment, set it: '\(set) --environment NAME'."
        default: nil
        }
    }
}

import ApplePush
import CarillonSchema

/// What docs/reasons.md tells the reader to do about a reason.
struct ReasonAdvice {
    /// While a push waits, with the reason as its `last_reason`. Nil if no push waits because of it.
    private(set) var whileWaiting: String?
    /// Once a push has failed. Nil if no push fails because of it.
    private(set) var onceFailed: String?

    /// The advice that follows from what Carillon does about a reason of APNs, unless the reason has its own.
    init(_ name: String) {
        onceFailed = Self.own[name] ?? ReasonText.change(for: name, of: "APP")?.replacing("'", with: "`")
        if name == "OutcomeUnknown" { whileWaiting = Self.nothing }
        guard let (reason, status) = Reason.all.first(where: { $0.reason.name == name }) else { return }
        switch reason.action(status: status) {
        case .deleteToken: onceFailed = "Nothing: a feedback pass deletes the device token."
        case .holdCredential where reason.isRetryable(status: status):
            whileWaiting = "if the app is held, import a credential that APNs accepts."
            onceFailed = "requeue it, because APNs accepted other pushes with the same credential."
        case .holdCredential:
            onceFailed = "If the app is held, import a credential that APNs accepts. Then requeue it."
        case .keepProviderToken, .renewProviderToken:
            whileWaiting = "Nothing: the app is held, and its pushes wait. This is only a `last_reason`."
        case .replaceConnection, .retryLater:
            whileWaiting = Self.nothing
            onceFailed = "requeue it, because Carillon has used up its attempts."
        case .failMessage, .failToken, .failTopic: break
        }
    }

    var text: String {
        guard let whileWaiting, let onceFailed else { return whileWaiting ?? onceFailed ?? "" }
        return "As `last_reason`: \(whileWaiting) As a failure: \(onceFailed)"
    }

    private static let nothing = "nothing, it is sent again."
    private static let bug = "If the gateway is APNs, report it as a bug: Carillon should never send such a request."
    private static let gateway = "Check the `gateway` of the app."
    private static let collapse =
        "Use a collapse id of 1 to 64 bytes, without control characters and without spaces at either end."
    private static let priority = "Use a priority that the [push type](enqueue.md#push-types) allows."
    private static let channel = "Check the channel: `carillon channel list`."
    private static let capability = "Enable the Broadcast capability of the app at Apple."

    static let own: [String: String] = [
        "BadChannelId": channel,
        "BadCollapseId": collapse,
        "BadExpirationDate":
            "Leave out `expires_at` for a [channel](channels.md#create-a-channel) with policy 0.",
        "BadMessageId": bug,
        "BadPath": gateway,
        "BadPriority": priority,
        "BadRequestParams": bug,
        "BadRequestPayload": "Correct the payload.",
        "BroadcastFeatureNotEnabled": capability,
        "CannotCreateChannelConfig": "Remove channels that you no longer use.",
        "ChannelNotRegistered": channel,
        "DuplicateHeaders": bug,
        "FeatureNotEnabled": capability,
        "InvalidPushType": "Use the [push type](enqueue.md#push-types) of the payload and the topic.",
        "MalformedCollapseId": collapse,
        "MalformedHeader": "Correct the topic or the collapse id.",
        "MalformedOnUnknown": "Use `retry` or `fail`.",
        "MalformedPayload": "Use a JSON object as the payload.",
        "MalformedToken": "Correct the device token.",
        "MalformedTopic": "Correct the topic.",
        "MethodNotAllowed": gateway,
        "MismatchedPayloads": "Give one payload for each token, or one `payload` for all.",
        "MissingChannelId": bug,
        "MissingChannelQueueSize": bug,
        "MissingDeviceToken": bug,
        "MissingPushType": bug,
        "OutcomeUnknown": "requeue it, if the device may receive it twice.",
        "PayloadEmpty": "Give each token a payload.",
        "PayloadTooLarge": "Shorten the payload.",
        "Poison": "Find out from the logs why the workers died, before you requeue it.",
        "TopicMismatch":
            "Set the right topic, `carillon app set APP --topic TOPIC`, or import a credential for it.",
        "TopicNotAllowed": "Name a [topic of the app](isolation.md#topics).",
        "UnknownApp": "Use the `id` of a row of `carillon.apps` as `app_id`.",
        "UnknownPriority": priority,
        "UnknownPushType":
            "Use one of the [push types](enqueue.md#push-types), or [name the topic](enqueue.md#what-this-version-does-not-know).",
        "Unqueued": "Remove what makes PostgreSQL refuse the row: its error is in the worker's log. Then requeue it.",
        "Unreadable": "Enqueue it again as smaller rows.",
        "Unrecorded": "Remove what makes PostgreSQL refuse the outcome: its error is in the worker's log.",
    ]
}

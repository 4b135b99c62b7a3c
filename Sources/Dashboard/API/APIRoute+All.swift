import CarillonWeb

extension APIRoute {
    static let all: [APIRoute] = messages + activities + media + channels + tokens + people + events

    /// `POST /messages`, which is older than the versioned routes. The token alone names the app.
    static let unversioned: APIRoute = {
        var route = enqueue
        route.base = ""
        route.members += [APIField("strict", .boolean), APIField("on_duplicate", .string)]
        return route
    }()

    private static let enqueue = APIRoute(
        name: "enqueue",
        method: .post,
        path: "/messages",
        right: .send,
        summary: "Enqueues a message to device tokens.",
        function: "enqueue",
        members: [APIField("tokens", .list(.token), required: true)] + content + delivery + [
            APIField("payloads", .list(.textOrObject))
        ],
        answer: .message
    )

    private static let messages: [APIRoute] = [
        enqueue,
        APIRoute(
            name: "broadcast",
            method: .post,
            path: "/broadcasts",
            right: .send,
            summary: "Enqueues a message to every registered token of one kind, or to some of them.",
            function: "broadcast",
            members: content + delivery + audience,
            answer: .message
        ),
        APIRoute(
            name: "get_message",
            method: .get,
            path: "/messages/{id}",
            right: .read,
            summary: "Returns the state of a message.",
            function: "message_status",
            parameters: [APIField("id", .integer, required: true)],
            answer: .first(messageStatus),
            refusals: [.notFound]
        ),
        APIRoute(
            name: "find_messages",
            method: .get,
            path: "/messages",
            right: .read,
            summary: "Lists the messages with a reference, with their states, by id.",
            function: "list_messages",
            parameters: [
                APIField("reference", .string, required: true), APIField("after", .integer), maxRows,
            ],
            answer: .object(.record(["messages": .list(messageStatus), "next": .integer]))
        ),
        APIRoute(
            name: "cancel",
            method: .post,
            path: "/cancel",
            right: .send,
            summary: "Cancels what is not sent yet: a message, all with a reference, or the pushes to an owner.",
            function: "cancel",
            members: [
                APIField("message_id", .integer), APIField("reference", .string), APIField("owner", .string),
            ],
            answer: .member("jobs", .integer)
        ),
        APIRoute(
            name: "trace",
            method: .get,
            path: "/trace",
            right: .read,
            summary: "Returns what is known of an owner, a device token, a reference or a message.",
            function: "trace",
            parameters: [
                APIField("owner", .string), APIField("token", .token), APIField("reference", .string),
                APIField("message_id", .integer), APIField("since", .interval),
            ],
            answer: .member("trace", .list(traceEvent)),
            refusals: [.notFound]
        ),
    ]

    private static let activities: [APIRoute] = [
        APIRoute(
            name: "start_activity",
            method: .post,
            path: "/activities/start",
            right: .send,
            summary: "Starts a Live Activity.",
            function: "start_activity",
            members: [
                APIField("tokens", .list(.token)), APIField("attributes_type", .string, required: true),
                APIField("attributes", .object, required: true), APIField("content_state", .object, required: true),
                APIField("channel", .string), APIField("push_token", .boolean),
            ] + everyone + activity,
            answer: .message
        ),
        APIRoute(
            name: "update_activity",
            method: .post,
            path: "/activities/update",
            right: .send,
            summary: "Updates Live Activities.",
            function: "update_activity",
            members: [
                APIField("tokens", .list(.token), required: true), APIField("content_state", .object, required: true),
            ] + activity,
            answer: .message
        ),
        APIRoute(
            name: "end_activity",
            method: .post,
            path: "/activities/end",
            right: .send,
            summary: "Ends Live Activities.",
            function: "end_activity",
            members: [
                APIField("tokens", .list(.token), required: true), APIField("content_state", .object),
                APIField("dismissal_date", .time),
            ] + activity,
            answer: .message
        ),
    ]

    private static let media = [
        ("start", "Starts a remote media session."), ("update", "Updates remote media sessions."),
        ("end", "Ends remote media sessions."),
    ].map { event, summary in
        APIRoute(
            name: "\(event)_media",
            method: .post,
            path: "/media/\(event)",
            right: .send,
            summary: summary,
            function: "\(event)_media",
            members: [
                APIField("tokens", .list(.token), required: event != "start"),
                APIField("attributes", .object, required: true),
            ] + (event == "start" ? everyone : []) + [
                APIField("apns_timestamp", .time), APIField("topic", .string), APIField("aps", .object),
                APIField("extra", .object),
            ] + delivery,
            answer: .message
        )
    }

    private static let channels: [APIRoute] = [
        APIRoute(
            name: "request_channel",
            method: .post,
            path: "/channels",
            right: .send,
            summary: "Requests a channel, which a worker then creates at Apple.",
            function: "request_channel",
            members: [APIField("policy", .range(0...1)), APIField("reference", .string)],
            answer: .member("reference", .string),
            refusals: [.conflict]
        ),
        APIRoute(
            name: "list_channels",
            method: .get,
            path: "/channels",
            right: .read,
            summary: "Lists the channels of the app by reference.",
            function: "list_channels",
            parameters: page,
            answer: .object(.record(["channels": .list(channel), "next": .string]))
        ),
        APIRoute(
            name: "remove_channel",
            method: .delete,
            path: "/channels/{channel}",
            right: .send,
            summary: "Requests the removal of a channel, by its reference or id.",
            function: "remove_channel",
            parameters: [APIField("channel", .string, required: true)],
            answer: .nothing,
            refusals: [.notFound]
        ),
        APIRoute(
            name: "publish",
            method: .post,
            path: "/publish",
            right: .send,
            summary: "Publishes an update to the Live Activities that follow a channel, or ends them.",
            function: "publish",
            members: [
                APIField("channel", .string, required: true), APIField("content_state", .object),
                APIField("event", .string), APIField("dismissal_date", .time),
            ] + activity.filter { $0.name != "topic" },
            answer: .message,
            refusals: [.notFound, .conflict]
        ),
    ]

    private static let tokens: [APIRoute] = [
        APIRoute(
            name: "register_token",
            method: .post,
            path: "/tokens",
            right: .tokens,
            summary: "Registers a device token or renews its registration.",
            function: "register_token",
            members: [
                APIField("token", .token, required: true), APIField("owner", .string), APIField("kind", .string),
                APIField("expires_at", .time), APIField("environment", .choice(["production", "sandbox"])),
                APIField("activity_type", .string), APIField("time_zone", .string), APIField("locale", .string),
                APIField("attributes", .object),
            ],
            answer: .notices
        ),
        APIRoute(
            name: "list_tokens",
            method: .get,
            path: "/tokens",
            right: .tokens,
            summary: "Lists the device tokens of an owner.",
            function: "list_tokens",
            parameters: [APIField("owner", .string, required: true)] + page,
            answer: .object(.record(["tokens": .list(token), "next": .string]))
        ),
        APIRoute(
            name: "unregister_token",
            method: .delete,
            path: "/tokens",
            right: .tokens,
            summary: "Deletes a device token, or all tokens of an owner.",
            function: "unregister_token",
            parameters: [APIField("token", .token), APIField("owner", .string)],
            answer: .member("tokens", .integer)
        ),
        APIRoute(
            name: "set_badge",
            method: .post,
            path: "/badge",
            right: .tokens,
            summary: "Sets the badge that badge_add adds to, for a device token or all of an owner. Sends nothing.",
            function: "set_badge",
            members: [
                APIField("token", .token), APIField("owner", .string), APIField("badge", .range(0...2_147_483_647)),
            ],
            answer: .member("tokens", .integer)
        ),
    ]

    /// Not in the address, as the owner of tokens is elsewhere: proxies log addresses.
    private static let people = [
        APIRoute(
            name: "forget",
            method: .post,
            path: "/forget",
            right: .forget,
            summary: "Erases a person: their device tokens, pushes that wait, and what history says about them.",
            function: "forget",
            members: [APIField("owner", .string, required: true)],
            answer: .member("forgotten", .list(.record(["kind": .string, "removed": .integer]))),
            refusals: [.conflict]
        )
    ]

    private static let events: [APIRoute] = [
        APIRoute(
            name: "get_events",
            method: .get,
            path: "/events",
            right: .read,
            summary: "Returns events of a consumer, which come again until they are acknowledged.",
            function: "peek_events",
            parameters: [APIField("consumer", .string, required: true), APIField("n", .range(1...1_000)), wait],
            answer: .object(.record(["events": .list(event), "cursor": .string])),
            refusals: [.notFound]
        ),
        APIRoute(
            name: "acknowledge_events",
            method: .post,
            path: "/events/acknowledge",
            right: .read,
            summary: "Takes the events that came with a cursor.",
            function: "acknowledge_events",
            members: [
                APIField("consumer", .string, required: true), APIField("cursor", .string, required: true),
            ],
            answer: .member("events", .integer),
            refusals: [.notFound]
        ),
    ]

    // MARK: What several have

    private static let maxRows = APIField("max_rows", .range(1...1_000))
    private static let page = [APIField("after", .string), maxRows]

    private static let content = [
        APIField("alert", .textOrObject), APIField("badge", .integer), APIField("sound", .string),
        APIField("content_available", .boolean), APIField("mutable_content", .boolean), APIField("category", .string),
        APIField("thread_id", .string), APIField("extra", .object), APIField("payload", .textOrObject),
        APIField("push_type", .string), APIField("collapse_id", .string), APIField("topic", .string),
        APIField("title", .string), APIField("subtitle", .string), APIField("body", .string),
        APIField("aps", .object), APIField("interruption_level", .string), APIField("relevance_score", .number),
        APIField("target_content_id", .string), APIField("filter_criteria", .string), APIField("stale_date", .time),
        APIField("badge_add", .integer), APIField("bodies", .object),
    ]

    private static let delivery = [
        APIField("priority", .integer), APIField("expires_at", .time), APIField("run_at", .time),
        APIField("lane", .integer), APIField("reference", .string), APIField("dedupe_key", .string),
        APIField("dedupe_for", .interval), APIField("on_unknown", .choice(["retry", "fail"])),
    ]

    /// Which of an app's tokens a message for all of them is for.
    private static let audience: [APIField] = [
        APIField("kind", .string), APIField("where_attributes", .object), APIField("locales", .list(.string)),
        APIField("activity_type", .string), APIField("run_at_local", .string), APIField("time_zone", .string),
    ]

    private static let everyone: [APIField] = [
        APIField("everyone", .boolean), APIField("where_attributes", .object), APIField("locales", .list(.string)),
    ]

    private static let activity =
        [
            APIField("alert", .textOrObject), APIField("title", .string), APIField("body", .string),
            APIField("sound", .string), APIField("stale_date", .time), APIField("relevance_score", .number),
            APIField("apns_timestamp", .time), APIField("topic", .string), APIField("aps", .object),
            APIField("extra", .object),
        ] + delivery

    // MARK: What they answer

    private static let messageStatus = APIType.record([
        "id": .integer, "app": .string, "reference": .string, "state": .string, "attempts": .integer,
        "next_attempt_at": .time, "last_status": .integer, "last_reason": .string, "tokens": .integer,
        "sent": .integer, "failed": .integer, "expired": .integer, "cancelled": .integer, "waiting": .integer,
        "waiting_reason": .string, "created_at": .time, "finished_at": .time, "outcomes": .list(.object),
        "may_have_arrived": .boolean,
    ])

    private static let traceEvent = APIType.record([
        "at": .time, "event": .string, "what": .string, "message_id": .integer, "token": .string, "details": .object,
    ])

    private static let channel = APIType.record([
        "reference": .string, "channel_id": .string, "policy": .integer, "state": .string, "last_error": .string,
        "requested_at": .time, "created_at": .time,
    ])

    private static let token = APIType.record([
        "token": .string, "owner": .string, "kind": .string, "last_update": .time, "expires_at": .time,
        "badge": .integer, "environment": .string, "activity_type": .string, "time_zone": .string, "locale": .string,
        "attributes": .object,
    ])

    private static let event = APIType.record([
        "id": .string, "kind": .string, "happened_at": .time, "app": .string, "message_id": .integer,
        "broadcast_id": .integer, "reference": .string, "token": .string, "status": .integer, "reason": .string,
        "unregistered_at": .time, "sent": .integer, "failed": .integer, "expired": .integer, "cancelled": .integer,
    ])
}

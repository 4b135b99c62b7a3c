/// The table of options. `--help`, parsing, variables and the manual all follow from these lines.
extension Option {
    // Every command.
    static let logLevel = Option(
        "log-level",
        .choice(["debug", "info", "warning", "error"]),
        default: "info",
        "The least that is worth a line in the log."
    )
    static let logFormat = Option(
        "log-format",
        .choice(["auto", "text", "json"]),
        default: "auto",
        "How the log is written; auto is text on a terminal and JSON lines elsewhere."
    )
    static let json = Option("json", .flag, "Print the result as JSON.")

    // The database.
    static let database = Option(
        "database",
        .text("URL"),
        secrecy: .sensitive,
        customary: "DATABASE_URL",
        "The PostgreSQL to use, as a URL or key=value words for libpq; without it libpq's own PG* variables count."
    )
    /// The same option for commands that serve several.
    static let databases = Option(
        "database",
        .text("URL"),
        secrecy: .sensitive,
        repeatable: true,
        partedBy: .whitespace,
        customary: "DATABASE_URL",
        "The PostgreSQL to use, as a URL or key=value words for libpq; without it libpq's own PG* variables count. May be "
            + "repeated (in a variable URLs are parted by white space): all are served."
    )

    // demo
    static let messages = Option("messages", .count(1...1_000_000), default: "20000", "How many pushes to send.")

    // worker
    static let once = Option(
        "once",
        .flag,
        "Do what is due, then exit; what is due later, such as a retry, is left for later."
    )
    static let embedded = Option(
        "embedded",
        .flag,
        "Keep a private PostgreSQL in the folder of --data, for a one-machine installation."
    )
    static let data = Option("data", .file("DIR"), "Where --embedded keeps its PostgreSQL.")
    static let maxInFlight = Option(
        "max-in-flight",
        .count(1...1_000_000),
        default: "8000",
        "The most pushes sent and not yet settled; also the most that a crash can send twice."
    )
    static let connections = Option(
        "connections",
        .count(1...1_000),
        default: "4",
        "The most connections to one gateway with one credential."
    )
    static let idleTimeout = Option(
        "idle-timeout",
        .duration(.seconds(1) ... .seconds(86_400)),
        default: "5m",
        "Close connections to a gateway that were idle for longer."
    )
    static let requestTimeout = Option(
        "request-timeout",
        .duration(.milliseconds(100) ... .seconds(600)),
        default: "10s",
        "How long a push may wait for its answer before its outcome counts as unknown."
    )
    static let drainTimeout = Option(
        "drain-timeout",
        .duration(.zero ... .seconds(3_600)),
        default: "30s",
        "How long answers are waited for after SIGTERM."
    )
    static let lease = Option(
        "lease",
        .duration(.seconds(2) ... .seconds(600)),
        default: "15s",
        "How long after its last sign of life another worker takes over what this one holds."
    )
    static let patience = Option(
        "patience",
        .duration(.milliseconds(10) ... .seconds(600)),
        default: "1s",
        "How long answered pushes wait for slow ones that were claimed with them before they are settled."
    )
    static let retryBase = Option(
        "retry-base",
        .duration(.milliseconds(1) ... .seconds(3_600)),
        default: "5s",
        "The back-off before a first retry; it doubles with each attempt, with full jitter."
    )
    static let retryCap = Option(
        "retry-cap",
        .duration(.milliseconds(1) ... .seconds(86_400)),
        default: "15m",
        "The longest back-off before a retry."
    )
    static let retention = Option(
        "retention",
        .duration(.seconds(3_600) ... .seconds(315_360_000)),
        default: "7d",
        "How long results and failures are kept."
    )
    static let feedbackInterval = Option(
        "feedback-interval",
        .duration(.zero ... .seconds(604_800)),
        default: "10m",
        "How often the fleet's feedback pass deletes dead tokens; with 0s this one runs none."
    )
    static let http = Option("http", .address, "Where to answer over HTTP, such as 127.0.0.1:9464.")

    // credential import
    static let file = Option("file", .file("FILE"), "The certificate (PEM or .p12) or signing key (.p8).")
    static let key = Option("key", .file("FILE"), "The private key of the certificate, where it is a file of its own.")
    static let keyID = Option("key-id", .text("K"), "The ten letters Apple names the signing key by.")
    static let teamID = Option("team-id", .text("T"), "The ten letters Apple names your team by.")
    static let passphrase = Option(
        "passphrase",
        .text("TEXT"),
        secrecy: .hidden,
        "What the key or .p12 is encrypted with."
    )

    // app add
    static let topic = Option("topic", .text("TOPIC"), "The app's topic, which is its bundle identifier.")
    static let credential = Option("credential", .text("NAME"), "The credential to send with.")
    static let environment = Option(
        "environment",
        .choice(["production", "sandbox"]),
        default: "production",
        "Which of Apple's gateways the app's tokens belong to."
    )
    static let gateway = Option("gateway", .text("HOST:PORT"), "Send to this gateway instead of Apple's.")
    static let gatewayCA = Option(
        "gateway-ca",
        .file("FILE"),
        "The root certificate (PEM) to trust for --gateway instead of the system's."
    )
    static let `protocol` = Option(
        "protocol",
        .choice(["http2", "binary"]),
        default: "http2",
        "What the gateway speaks; binary is the legacy protocol."
    )
    static let maxRate = Option("max-rate", .count(1...10_000_000), "The most pushes a second, over the whole fleet.")
    static let maxAttempts = Option("max-attempts", .count(1...1_000), "How often one push is tried.")

    static let feedbackGateway = Option(
        "feedback-gateway",
        .text("HOST:PORT"),
        "Read the list of dead tokens from this legacy feedback service instead of Apple's."
    )
    static let rename = Option("rename", .text("NAME"), "Give the app another name.")
    static let clear = Option(
        "clear",
        .choice(["topic", "gateway", "gateway-ca", "feedback-gateway", "max-rate"]),
        repeatable: true,
        "Take this setting back to none; may be repeated."
    )
    static let yes = Option("yes", .flag, "Do it without asking.")
    static let reapBadTokens = Option(
        "reap-bad-tokens",
        .flag,
        "Delete a token for BadDeviceToken too, unless most pushes fail so, as they do in the wrong environment."
    )

    // send
    static let app = Option("app", .text("APP"), "The name of the app.")
    static let token = Option("token", .text("TOKEN"), repeatable: true, "The device token, in hex; may be repeated.")
    static let alert = Option("alert", .text("TEXT"), "The alert to show: text, or a JSON object of Apple's keys.")
    static let title = Option("title", .text("TEXT"), "The title of the alert, instead of --alert.")
    static let subtitle = Option("subtitle", .text("TEXT"), "The subtitle of the alert, instead of --alert.")
    static let body = Option("body", .text("TEXT"), "The text of the alert below its title, instead of --alert.")
    static let badge = Option("badge", .count(0...1_000_000_000), "The number on the app's icon.")
    static let sound = Option("sound", .text("NAME"), "The sound to play.")
    static let payload = Option("payload", .text("JSON"), "The whole payload, sent byte for byte, instead of --alert.")
    static let pushType = Option("push-type", .text("TYPE"), "Apple's push type; alert where nothing is said.")
    static let priority = Option(
        "priority",
        .count(1...10),
        "10 at once, 5 when the device finds it convenient, 1 never wakes."
    )
    static let collapseID = Option("collapse-id", .text("ID"), "Pushes of the same id replace each other.")
    static let expiresIn = Option(
        "expires-in",
        .duration(.seconds(1) ... .seconds(31_536_000)),
        "Neither send nor store the push after this time."
    )
    static let wait = Option(
        "wait",
        .duration(.zero ... .seconds(86_400)),
        default: "30s",
        "How long to wait for the outcome; 0s only enqueues."
    )

    // tokens import
    static let rejects = Option(
        "rejects",
        .file("FILE"),
        "Write every line that was refused here as CSV, with its number and the reason."
    )

    // failures
    static let reason = Option("reason", .text("REASON"), "Only what failed for this reason, such as BadDeviceToken.")
    static let since = Option(
        "since",
        .duration(.seconds(1) ... .seconds(315_360_000)),
        "Only what failed within this time, such as 1h."
    )
    static let message = Option(
        "message",
        .count(1...Int.max),
        "Only failures of the message or broadcast with this id."
    )
    static let reference = Option("reference", .text("TEXT"), "The reference that enqueue was given.")
    static let limit = Option("limit", .count(1...1_000_000), default: "50", "How many to list, the newest first.")
    static let dryRun = Option("dry-run", .flag, "Only say what would be done.")
    static let includeUnknown = Option(
        "include-unknown",
        .flag,
        "Send again also what may have been delivered: no answer came, or none was recorded."
    )
    static let includeDelivered = Option(
        "include-delivered",
        .flag,
        "Send again also what was delivered and only could not be recorded."
    )

    // status, healthcheck
    static let watch = Option("watch", .flag, "Show it again and again until interrupted.")
    static let interval = Option(
        "interval",
        .duration(.milliseconds(100) ... .seconds(3_600)),
        default: "2s",
        "How often --watch looks."
    )

    // migrate
    static let to = Option("to", .count(0...1_000_000), "Stop at this version of the schema.")
    static let after = Option("after", .count(0...1_000_000), "Begin after this version of the schema.")

    // simulator
    static let host = Option("host", .text("HOST"), default: "127.0.0.1", "The address to listen on.")
    static let port = Option(
        "port",
        .count(0...65_535),
        default: "2197",
        "The port of the HTTP/2 gateway; 0 takes a free one."
    )
    static let feedbackPort = Option(
        "feedback-port",
        .count(0...65_535),
        "The port of the legacy feedback service, at Apple 2196; 0 takes a free one, and without it there is none."
    )
    static let deadToken = Option(
        "dead-token",
        .text("TOKEN[:UNIX_SECONDS]"),
        repeatable: true,
        "Have the feedback service tell of this token; may be repeated."
    )
    static let feedbackCutAfter = Option(
        "feedback-cut-after",
        .count(1...Int.max),
        "Break off the feedback service's first list after N bytes; the next one has the rest."
    )
    static let state = Option(
        "state",
        .file("DIR"),
        "Keep the authority here, so that its root stays the same from start to start."
    )
    static let pedantic = Option(
        "pedantic",
        .flag,
        "Refuse what Apple takes though it should not be: DER signatures, iat as a string, connections without h2."
    )
    static let anyTopic = Option(
        "any-topic",
        .flag,
        "Take each device token for any app; without it, only for the one that it was first taken for."
    )
    static let caOut = Option("ca-out", .file("FILE"), "Write the root certificate here rather than print it.")
    static let requestLog = Option(
        "log",
        .file("FILE"),
        "Write a line for each request, and each failed connection, here."
    )
    static let answer = Option(
        "answer",
        .text("PREFIX=STATUS[:REASON[:UNIX_MS]]"),
        repeatable: true,
        "Answer tokens that begin with the prefix so; may be repeated, the longest prefix counts."
    )
    static let distance = Option(
        "distance",
        .duration(.zero ... .seconds(60)),
        default: "0s",
        "Seem this far away: a round trip takes this time, half of it each way."
    )
    static let delay = Option("delay", .duration(.zero ... .seconds(3_600)), default: "0s", "Answer after this time.")
    static let goAwayAfter = Option(
        "goaway-after",
        .count(1...Int.max),
        "End each connection by GOAWAY after N requests."
    )
    static let resetAfter = Option(
        "reset-after",
        .count(1...Int.max),
        "Reset each connection's socket after N requests."
    )
    static let maxStreams = Option(
        "max-streams",
        .count(1...1_000_000),
        "Announce N streams from the start; without it as Apple does, 1000, and 1 before the first provider token."
    )
    static let allowTopic = Option(
        "allow-topic",
        .text("TOPIC"),
        repeatable: true,
        "Let provider tokens push to this topic only; may be repeated."
    )

    /// What every command takes.
    static let common: [Option] = [logLevel, logFormat]

    static let all: [Option] =
        common + [
            json, database, messages, once, embedded, data, maxInFlight, connections, idleTimeout, requestTimeout,
            drainTimeout, lease, patience, retryBase, retryCap, retention, feedbackInterval, http, file, key, keyID,
            teamID, passphrase,
            topic,
            credential,
            environment, gateway, gatewayCA, feedbackGateway, `protocol`, maxRate, maxAttempts, reapBadTokens, rename,
            clear, yes, app, token, alert, title, subtitle, body, badge,
            sound,
            payload, pushType, priority, collapseID, expiresIn, wait, rejects, reason, since, message, reference, limit,
            dryRun, includeUnknown, includeDelivered,
            watch,
            interval, to, after, host, port, feedbackPort, deadToken, feedbackCutAfter, caOut, state,
            pedantic, anyTopic, requestLog, answer, delay, distance, goAwayAfter, resetAfter, maxStreams, allowTopic,
        ]
}

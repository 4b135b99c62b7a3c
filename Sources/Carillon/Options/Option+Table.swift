/// The table of options. `--help`, parsing, environment variables and docs/cli.md are made from it.
extension Option {
    // Every command.
    static let logLevel = Option(
        "log-level",
        .choice(["debug", "info", "warning", "error"]),
        default: "info",
        "The lowest level that is logged."
    )
    static let logFormat = Option(
        "log-format",
        .choice(["auto", "text", "json"]),
        default: "auto",
        "The format of the log; auto is text on a terminal and JSON lines elsewhere."
    )
    static let json = Option("json", .flag, "Print the result as JSON.")

    // The database.
    static let database = Option(
        "database",
        .database,
        secrecy: .sensitive,
        customary: "DATABASE_URL",
        "The PostgreSQL database, as a URL or as key=value words; without it, libpq's PG* variables are used. Other users of "
            + "the machine see a password in an argument: pass it in a file or a variable. A file is read again for each "
            + "connection."
    )
    /// The same option for commands that serve several.
    static let databases = Option(
        "database",
        .database,
        secrecy: .sensitive,
        repeatable: true,
        partedBy: .whitespace,
        customary: "DATABASE_URL",
        "The PostgreSQL database, as a URL or as key=value words; without it, libpq's PG* variables are used. May be "
            + "repeated; several URLs may also stand in one variable, separated by spaces. Other users of the machine see a "
            + "password in an argument: pass it in a file or a variable. A file is read again for each connection, so "
            + "its password may change."
    )

    // demo
    static let messages = Option("messages", .count(1...1_000_000), default: "20000", "How many pushes to send.")

    // worker
    static let once = Option(
        "once",
        .flag,
        "Do what is due, then exit; what is due later, such as a retry, stays for later."
    )
    /// The same option for `feedback`.
    static let oncePass = Option("once", .flag, "Run one feedback pass now, then exit.")
    static let embedded = Option(
        "embedded",
        .flag,
        "Run a private PostgreSQL in the folder --data, for an installation on one machine."
    )
    static let data = Option("data", .file("DIR"), "The folder of the embedded PostgreSQL.")
    static let maxInFlight = Option(
        "max-in-flight",
        .count(1...1_000_000),
        default: "8000",
        "The most pushes that may be in flight; also the most that a crash can send twice."
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
        "Close connections to a gateway after they were idle for this long."
    )
    static let requestTimeout = Option(
        "request-timeout",
        .duration(.milliseconds(100) ... .seconds(600)),
        default: "10s",
        "How long to wait for the answer to a push before its outcome counts as unknown."
    )
    static let drainTimeout = Option(
        "drain-timeout",
        .duration(.zero ... .seconds(3_600)),
        default: "30s",
        "How long to wait for answers after SIGTERM."
    )
    static let lease = Option(
        "lease",
        .duration(.seconds(2) ... .seconds(600)),
        default: "15s",
        "How long after its last heartbeat other workers take over what this worker holds."
    )
    static let patience = Option(
        "patience",
        .duration(.milliseconds(10) ... .seconds(600)),
        default: "1s",
        "How long answered pushes wait for slow pushes of the same claim before they are settled."
    )
    static let retryBase = Option(
        "retry-base",
        .duration(.milliseconds(1) ... .seconds(3_600)),
        default: "5s",
        "The back-off before the first retry; it doubles with each attempt, with full jitter."
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
        "How often the fleet runs a feedback pass, which deletes dead tokens; with 0s, a worker runs none."
    )
    /// The same option for `feedback`.
    static let passInterval = Option(
        "feedback-interval",
        .duration(.zero ... .seconds(604_800)),
        default: "10m",
        "How long after a feedback pass of the fleet the next one is due, which this command then runs."
    )
    static let http = Option("http", .address, "The address to serve HTTP on, such as 127.0.0.1:9464.")

    // credential import
    static let file = Option(
        "file",
        .file("FILE"),
        "The certificate (PEM or .p12) or signing key (.p8); for 'simulator', the only signing key to accept."
    )
    static let key = Option("key", .file("FILE"), "The private key of the certificate, if it is in another file.")
    static let keyID = Option("key-id", .text("K"), "Apple's ID of the signing key, ten characters.")
    static let teamID = Option("team-id", .text("T"), "Apple's ID of your team, ten characters.")
    static let passphrase = Option(
        "passphrase",
        .text("TEXT"),
        secrecy: .hidden,
        "The passphrase of the key or .p12."
    )

    // app add
    static let topic = Option("topic", .text("TOPIC"), "The app's topic, which is its bundle identifier.")
    static let credential = Option("credential", .text("NAME"), "The credential to send with.")
    static let environment = Option(
        "environment",
        .choice(["production", "sandbox"]),
        default: "production",
        "Which of Apple's environments the app's tokens belong to."
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
        "The protocol of the gateway; binary is the legacy protocol."
    )
    static let maxRate = Option(
        "max-rate",
        .count(1...10_000_000),
        "The most pushes a second, for all workers together."
    )
    static let maxAttempts = Option("max-attempts", .count(1...1_000), "The most attempts for one push.")

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
        "Remove this setting; may be repeated."
    )
    static let yes = Option("yes", .flag, "Do it without asking.")
    static let reapBadTokens = Option(
        "reap-bad-tokens",
        .flag,
        "Also delete tokens that fail as BadDeviceToken, unless most pushes fail so, as in the wrong environment."
    )

    // send
    static let app = Option("app", .text("APP"), "The name of the app.")
    static let token = Option("token", .text("TOKEN"), repeatable: true, "The device token, in hex; may be repeated.")
    static let alert = Option("alert", .text("TEXT"), "The alert: text, or a JSON object with Apple's keys.")
    static let title = Option("title", .text("TEXT"), "The title of the alert, instead of --alert.")
    static let subtitle = Option("subtitle", .text("TEXT"), "The subtitle of the alert, instead of --alert.")
    static let body = Option("body", .text("TEXT"), "The text below the title of the alert, instead of --alert.")
    static let badge = Option("badge", .count(0...1_000_000_000), "The number on the app's icon.")
    static let sound = Option("sound", .text("NAME"), "The sound to play.")
    static let payload = Option("payload", .text("JSON"), "The whole payload, sent byte for byte, instead of --alert.")
    static let pushType = Option("push-type", .text("TYPE"), "Apple's push type; alert unless given.")
    static let priority = Option(
        "priority",
        .count(1...10),
        "10: deliver at once; 5: consider the device's power; 1: never wake the device."
    )
    static let collapseID = Option(
        "collapse-id",
        .text("ID"),
        "Pushes with the same id replace each other on the device."
    )
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
        "Write each refused line to this file, as CSV with its number and the reason."
    )

    // failures
    static let reason = Option("reason", .text("REASON"), "Only failures with this reason, such as BadDeviceToken.")
    static let since = Option(
        "since",
        .duration(.seconds(1) ... .seconds(315_360_000)),
        "Only failures within this time, such as 1h."
    )
    static let message = Option(
        "message",
        .count(1...Int.max),
        "Only failures of the message or broadcast with this id."
    )
    static let reference = Option("reference", .text("TEXT"), "The reference given to enqueue.")
    static let limit = Option("limit", .count(1...1_000_000), default: "50", "How many to list, newest first.")
    static let dryRun = Option("dry-run", .flag, "Only show what would be done.")
    static let includeUnknown = Option(
        "include-unknown",
        .flag,
        "Also requeue pushes that may have been delivered: their answer is unknown or was not recorded."
    )
    static let includeDelivered = Option(
        "include-delivered",
        .flag,
        "Also requeue pushes that were delivered, but whose success could not be recorded."
    )

    // status, healthcheck
    static let watch = Option("watch", .flag, "Repeat until interrupted.")
    static let interval = Option(
        "interval",
        .duration(.milliseconds(100) ... .seconds(3_600)),
        default: "2s",
        "How often --watch repeats."
    )

    // migrate
    static let to = Option("to", .count(0...1_000_000), "Stop at this version of the schema.")
    static let after = Option("after", .count(0...1_000_000), "Start after this version of the schema.")

    // simulator
    static let host = Option("host", .text("HOST"), default: "127.0.0.1", "The address to listen on.")
    static let serverName = Option(
        "name",
        .text("HOST"),
        repeatable: true,
        "Put this host name or address into the server certificate, besides localhost, 127.0.0.1 and ::1; may be repeated."
    )
    static let port = Option(
        "port",
        .count(0...65_535),
        default: "2197",
        "The port of the HTTP/2 gateway; 0 chooses a free port."
    )
    static let feedbackPort = Option(
        "feedback-port",
        .count(0...65_535),
        "The port of the legacy feedback service (Apple's is 2196); 0 chooses a free port. Without it, there is no such service."
    )
    static let deadToken = Option(
        "dead-token",
        .text("TOKEN[:UNIX_SECONDS]"),
        repeatable: true,
        "Put this token on the feedback service's list; may be repeated."
    )
    static let feedbackCutAfter = Option(
        "feedback-cut-after",
        .count(1...Int.max),
        "Close the connection after N bytes of the first feedback list; the next list has the rest."
    )
    static let state = Option(
        "state",
        .file("DIR"),
        "Keep the certificate authority in this folder, so that each start has the same root certificate."
    )
    static let pedantic = Option(
        "pedantic",
        .flag,
        "Refuse what Apple tolerates: DER signatures, iat as a string, connections that do not negotiate h2."
    )
    static let anyTopic = Option(
        "any-topic",
        .flag,
        "Accept each device token for any topic; without this, only for the first topic that it was used with."
    )
    static let caOut = Option(
        "ca-out",
        .file("FILE"),
        "Write the root certificate to this file instead of standard output (-)."
    )
    static let requestLog = Option(
        "log",
        .file("FILE"),
        "Append a line for each request and each failed connection to this file; - is standard output."
    )
    static let answer = Option(
        "answer",
        .text("PREFIX=STATUS[:REASON[:UNIX_MS]][+SECONDS][*TIMES]"),
        repeatable: true,
        "The answer to pushes whose token begins with the prefix; may be repeated, the longest prefix applies. STATUS may "
            + "be silence or reset, +SECONDS is a retry-after, *TIMES counts for each device token."
    )
    static let distance = Option(
        "distance",
        .duration(.zero ... .seconds(60)),
        default: "0s",
        "Delay everything as on a long line: a round trip takes this time, half of it each way."
    )
    static let delay = Option(
        "delay",
        .duration(.zero ... .seconds(3_600)),
        default: "0s",
        "Wait this long before each answer."
    )
    static let goAwayAfter = Option(
        "goaway-after",
        .count(1...Int.max),
        "End each connection by GOAWAY after N requests; all N are answered."
    )
    static let resetAfter = Option(
        "reset-after",
        .count(1...Int.max),
        "Reset each connection's socket at request N, which gets no answer."
    )
    static let maxStreams = Option(
        "max-streams",
        .count(1...1_000_000),
        "Allow N concurrent streams. Without it, as Apple does: 1000, and 1 before the first provider token."
    )
    static let allowTopic = Option(
        "allow-topic",
        .text("TOPIC"),
        repeatable: true,
        "Accept this topic from provider tokens, and no other; may be repeated."
    )

    /// The options that every command takes.
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
            interval, to, after, host, serverName, port, feedbackPort, deadToken, feedbackCutAfter, caOut, state,
            pedantic, anyTopic, requestLog, answer, delay, distance, goAwayAfter, resetAfter, maxStreams, allowTopic,
        ]
}

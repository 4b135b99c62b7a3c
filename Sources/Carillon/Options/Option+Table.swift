import CarillonDashboard
import CarillonPushQueue
import CarillonPushRules

/// The table of options. `--help`, parsing, environment variables and docs/cli.md are made from it, and from `AppOptions`.
extension Option {
    // Every command.
    static let logLevel = Option("log-level", .choice(["debug", "info", "warning", "error"]), default: "info")
        .help("Minimum level of log lines.")
    static let logFormat = Option("log-format", .choice(["auto", "text", "json"]), default: "auto")
        .help("Format of the log; auto is text on a terminal and JSON lines elsewhere.")
    static let json = Option("json", .flag).help("Print the result as JSON.")

    // The database.
    static let database = Option("database", .database, secrecy: .sensitive, customary: "DATABASE_URL")
        .help(databaseHelp)
    /// The same option for commands that serve several.
    static let databases = Option(
        "database",
        .database,
        secrecy: .sensitive,
        repeatable: true,
        partedBy: .whitespace,
        customary: "DATABASE_URL"
    )
    .help(databaseHelp + " May be repeated; one variable or file may have several URLs, separated by white space.")
    private static let databaseHelp =
        "The PostgreSQL database, as a URL or as key=value words; without it, libpq's PG* variables are used. Other users "
        + "of the machine can read a password in an argument: pass it in a file or a variable. A file is read again for "
        + "each connection, so the password in it may change."

    // demo
    static let messages = Option("messages", .count(1...1_000_000), default: "20000").help("Number of pushes to send.")

    static let withWeb = Option("web", .flag).help("Serve the dashboard, as 'carillon web' does.")
    static let webAddress = Option("web-http", .address, default: "127.0.0.1:9465")
        .help("With --web: the address to serve the dashboard on.")

    // worker
    static let once = Option("once", .flag)
        .help("Send what is due, then exit. Jobs that are due later, such as retries, stay in the queue.")
    /// The same option for `feedback`.
    static let oncePass = Option("once", .flag).help("Run one feedback pass now, then exit.")
    static let embedded = Option("embedded", .flag)
        .help("Run a private PostgreSQL in the folder --data, for an installation on one machine.")
    static let data = Option("data", .file("DIR")).help("The folder of the embedded PostgreSQL.")
    static let maxInFlight = Option("max-in-flight", .count(1...1_000_000), default: "8000")
        .help("Maximum number of pushes in flight, and therefore of pushes that may be sent twice after a crash.")
    static let connections = Option("connections", .count(1...1_000), default: "4")
        .help("Maximum number of connections to one gateway with one credential.")
    static let idleTimeout = Option("idle-timeout", .duration(.seconds(1) ... .seconds(86_400)), default: "5m")
        .help("Time after which an idle connection to a gateway is closed.")
    static let requestTimeout = Option(
        "request-timeout",
        .duration(.milliseconds(100) ... .seconds(600)),
        default: "10s"
    )
    .help("Time to wait for the answer to a push; if none comes, its outcome is unknown.")
    static let drainTimeout = Option("drain-timeout", .duration(.zero ... .seconds(3_600)), default: "30s")
        .help("Time to wait for answers after SIGTERM.")
    static let lease = Option("lease", .duration(.seconds(2) ... .seconds(600)), default: "15s")
        .help("Time after the last heartbeat until other workers take over the claims of this worker.")
    static let settleAfter = Option("settle-after", .duration(.milliseconds(10) ... .seconds(600)), default: "1s")
        .help("Time that answered pushes wait for slow pushes of the same claim before they are settled.")
    static let retryBase = Option("retry-base", .duration(.milliseconds(1) ... .seconds(3_600)), default: "5s")
        .help("Back-off before the first retry; it doubles with each attempt, with full jitter.")
    static let retryCap = Option("retry-cap", .duration(.milliseconds(1) ... .seconds(86_400)), default: "15m")
        .help("Maximum back-off before a retry.")
    static let retention = Option("retention", .duration(.seconds(3_600) ... .seconds(315_360_000)), default: "7d")
        .help("Time that results and failures are kept.")
    static let feedbackInterval = Option("feedback-interval", .duration(.zero ... .seconds(604_800)), default: "10m")
        .help(
            "Time between the feedback passes of the fleet, which delete dead tokens; with 0s, this worker runs none."
        )
    /// The same option for `feedback`.
    static let passInterval = Option("feedback-interval", .duration(.zero ... .seconds(604_800)), default: "10m")
        .help("Time between the feedback passes of the fleet; this command runs those that are due.")
    static let http = Option("http", .address)
        .help("Address to serve metrics and health on, such as 127.0.0.1:9464.")

    static let webhookProxy = Option("webhook-proxy", .proxy, secrecy: .sensitive)
        .help(
            "Post webhooks through this HTTP proxy. It looks up the receivers' names, so it has to refuse private addresses: "
                + "with it, --allow-private has no effect on addresses."
        )

    // webhook
    static let receiver = Option("url", .text("URL")).help("The URL of the receiver.")
    static let eventKinds = Option("kinds", .text("KIND"), repeatable: true)
        .help("A kind of events to post, such as failed; may be repeated. By default, all kinds.")
    static let allowPrivate = Option("allow-private", .flag)
        .help("Let the receiver have an address of this machine or of a private network, and use http.")
    static let receiverCA = Option("ca", .file("FILE"))
        .help("The root certificate (PEM) to trust for the receiver, instead of those that the system trusts.")
    static let keepOld = Option("keep-old", .duration(.zero ... .seconds(2_592_000)), default: "1d")
        .help("Time for which requests are signed with the old secret too.")
    /// The same option for `webhook redeliver`.
    static let redeliverSince = Option("since", .duration(.seconds(1) ... .seconds(315_360_000)))
        .help("Events of the last D, such as 2h.")

    // metrics
    static let exportToken = Option("export-token", .text("TOKEN"), secrecy: .hidden)
        .help("The data export token that Apple's CloudKit console has made.")
    static let expires = Option("expires", .text("DAY")).help("When the token expires, such as 2027-05-30.")
    /// The same option for `metrics`.
    static let exportedSince = Option("since", .duration(.seconds(1) ... .seconds(315_360_000)), default: "30d")
        .help("The days of the last D, which Apple exports for the last 30d.")
    static let exportWait = Option("wait", .duration(.zero ... .seconds(86_400)), default: "10m")
        .help("Time to wait until Apple has made an export.")
    static let service = Option("service", .text("URL"), default: ExportClient.service)
        .help("Ask this service instead of Apple's.")
    static let exportProxy = Option("proxy", .text("URL"), secrecy: .sensitive)
        .help("Ask through this proxy, which looks up names, so it has to refuse private addresses.")

    // credential import
    static let file = Option("file", .file("FILE"))
        .help("The certificate (PEM or .p12) or signing key (.p8).")
    static let key = Option("key", .file("FILE")).help("The private key of the certificate, if it is in another file.")
    static let keyID = Option("key-id", .text("K")).help("Apple's ID of the signing key, ten characters.")
    static let teamID = Option("team-id", .text("T")).help("Apple's ID of your team, ten characters.")
    static let passphrase = Option("passphrase", .text("TEXT"), secrecy: .hidden)
        .help("The passphrase of the key or .p12.")

    // app add
    static let topic = Option("topic", .text("TOPIC")).help("The app's topic, which is its bundle ID.")
    static let credential = Option("credential", .text("NAME")).help("The credential to send with.")
    static let environment = Option(
        "environment",
        .choice(AppSettings.Environment.allCases.map(\.rawValue)),
        default: "production"
    )
    .help("The Apple environment that the app's device tokens belong to.")
    static let gateway = Option("gateway", .text("HOST:PORT")).help("Send to this gateway instead of Apple's.")
    static let gatewayCA = Option("gateway-ca", .file("FILE"))
        .help("The root certificate (PEM) to trust for --gateway, --channel-gateway and --feedback-gateway.")
    static let feedbackGateway = Option("feedback-gateway", .text("HOST:PORT"))
        .help(
            "Read the legacy feedback list of this service; the value none disables it. By default, Apple's list is read for the "
                + "protocol binary, unless --gateway is set."
        )
    static let channelGateway = Option("channel-gateway", .text("HOST:PORT"))
        .help("Manage channels at this service instead of Apple's.")
    static let otherGateway = Option("other-gateway", .text("HOST:PORT"))
        .help("With --both-environments, send to this gateway instead of Apple's of the other environment.")
    static let rename = Option("rename", .text("NAME")).help("Give the app another name.")
    static let clear = Option("clear", .choice(AppOptions.clearable.map(\.flag)), repeatable: true)
        .help(
            "Remove one of the settings \(AppOptions.clearable.map(\.flag).joined(separator: ", ")); may be repeated."
        )
    static let to = Option("to", .database, secrecy: .sensitive)
        .help("The database to move to, as --database names one. Other users can read a password in an argument.")
    static let moveStatus = Option("status", .flag).help("Show how far the move is.")
    static let cancelMove = Option("cancel", .flag).help("Undo a move that has not left the source.")
    static let yes = Option("yes", .flag).help("Do not ask for confirmation.")

    // api-token
    static let right = Option("right", .choice(["send", "read", "tokens", "forget"]), repeatable: true)
        .help("What the token allows; may be repeated. By default, send.")

    // send
    static let app = Option("app", .text("APP")).help("The name of the app.")
    static let token = Option("token", .text("TOKEN"), repeatable: true)
        .help("The device token, in hex; may be repeated.")
    static let alert = Option("alert", .text("TEXT")).help("The alert: text, or a JSON object with Apple's keys.")
    static let title = Option("title", .text("TEXT")).help("The title of the alert, instead of --alert.")
    static let subtitle = Option("subtitle", .text("TEXT")).help("The subtitle of the alert, instead of --alert.")
    static let body = Option("body", .text("TEXT")).help("The text below the title of the alert, instead of --alert.")
    static let badge = Option("badge", .count(0...1_000_000_000)).help("The number on the app's icon.")
    static let sound = Option("sound", .text("NAME")).help("The sound to play.")
    static let payload = Option("payload", .text("JSON"))
        .help("The whole payload, sent byte for byte, instead of --alert.")
    static let bodies = Option("bodies", .text("JSON"))
        .help("An object with an alert for each locale and one named default, instead of --alert.")
    static let pushType = Option("push-type", .text("TYPE")).help(
        "Apple's push type; derived from the payload unless given."
    )
    static let priority = Option("priority", .count(1...10))
        .help("10: deliver at once; 5: consider the device's power; 1: never wake the device.")
    static let collapseID = Option("collapse-id", .text("ID"))
        .help("Pushes with the same id replace each other on the device.")
    static let expiresIn = Option("expires-in", .duration(.seconds(1) ... .seconds(31_536_000)))
        .help("Time after which Carillon no longer sends the push and APNs no longer stores it.")
    static let wait = Option("wait", .duration(.zero ... .seconds(86_400)), default: "30s")
        .help("Time to wait for the outcome; with 0s, the command only enqueues.")

    // channel
    static let policy = Option("policy", .choice(["0", "1"]), default: "0")
        .help(
            "What Apple stores for devices that are offline: 0 nothing, 1 the last message. It cannot be changed later."
        )
    static let channelWait = Option("wait", .duration(.zero ... .seconds(86_400)), default: "30s")
        .help("Time to wait for a worker to do it; with 0s, the command only makes the request.")
    static let removeUnknown = Option("remove-unknown", .flag)
        .help("Remove unknown channels that were first seen longer ago than --grace.")
    static let grace = Option("grace", .duration(.zero ... .seconds(31_536_000)), default: "1d")
        .help("Time that an unknown channel is kept after it was first seen.")

    // tokens import
    static let kind = Option("kind", .tokenKind)
        .help("The kind of tokens whose line does not give one: \(TokenKind.form).")
    static let rejects = Option("rejects", .file("FILE"))
        .help("Write the refused lines to this file, as CSV with line number and reason.")

    // failures
    static let reason = Option("reason", .text("REASON"))
        .help("Only failures with this reason, such as BadDeviceToken.")
    static let since = Option("since", .duration(.seconds(1) ... .seconds(315_360_000)))
        .help("Only failures of the last D, such as 1h.")
    static let message = Option("message", .count(1...Int.max))
        .help("Only failures of the message or broadcast with this id.")
    static let reference = Option("reference", .text("TEXT")).help("The reference given to enqueue.")
    static let owner = Option("owner", .text("TEXT")).help(
        "The owner of device tokens, as register_token was given it."
    )
    static let limit = Option("limit", .count(1...1_000_000), default: "50").help(
        "Maximum number of failures to list, newest first."
    )
    static let dryRun = Option("dry-run", .flag).help("Show what would be done, without doing it.")
    static let includeUnknown = Option("include-unknown", .flag)
        .help("Also requeue pushes that may have been delivered, because their outcome is unknown or was not recorded.")
    static let includeDelivered = Option("include-delivered", .flag)
        .help("Also requeue pushes that were sent, but whose success could not be recorded.")

    // trace, beside owner and reference
    /// The same option for `trace`, which takes one.
    static let tracedToken = Option("token", .text("TOKEN")).help("The device token, in hex.")
    /// The same option for `trace`.
    static let tracedMessage = Option("message", .count(1...Int.max)).help("The id of the message or broadcast.")
    /// The same option for `trace`.
    static let tracedSince = Option("since", .duration(.seconds(1) ... .seconds(315_360_000)))
        .help("Only what happened in the last D, such as 2d, and what is so now.")
    static let maxRowsRead = Option("max-rows-read", .count(1...10_000_000), default: "2000")
        .help("How many of the newest failures, reports of dead tokens and waiting jobs of the app to read.")

    // status, healthcheck
    static let watch = Option("watch", .flag).help("Repeat until interrupted.")
    static let interval = Option("interval", .duration(.milliseconds(100) ... .seconds(3_600)), default: "2s")
        .help("Time between two displays with --watch.")

    // migrate
    static let toVersion = Option("to-version", .count(0...1_000_000)).help("Stop at this version of the schema.")
    static let after = Option("after", .count(0...1_000_000)).help("Start after this version of the schema.")

    // adopt
    static let installation = Option("installation", .text("NAME"))
        .help(
            "Give the installation this name; '' removes it. Its programs must then have the name in the options of their "
                + "connections (carillon.installation), so that a clone of the disk is not taken for the original."
        )
    static let expireBefore = Option("expire-before", .text("TIME"))
        .help("End jobs that were enqueued before this time without sending them; 'now' ends all.")

    // simulator
    static let host = Option("host", .text("HOST"), default: "127.0.0.1").help("The address to listen on.")
    static let serverName = Option("name", .text("HOST"), repeatable: true)
        .help(
            "Put this host name or address into the server certificate, besides localhost, 127.0.0.1 and ::1; may be repeated."
        )
    static let port = Option("port", .count(0...65_535), default: "2197")
        .help("The port of the HTTP/2 gateway; 0 chooses a free port.")
    static let channelPort = Option("channel-port", .count(0...65_535))
        .help(
            "The port of the channel service (Apple's are 2195 and 2196); 0 chooses a free port. Without it, there is no such "
                + "service."
        )
    static let binaryPort = Option("binary-port", .count(0...65_535))
        .help(
            "The port of the legacy binary gateway (Apple's was 2195); 0 chooses a free port. Without it, there is no such gateway."
        )
    static let feedbackPort = Option("feedback-port", .count(0...65_535))
        .help(
            "The port of the legacy feedback service (Apple's was 2196); 0 chooses a free port. Without it, there is no such service."
        )
    static let deadToken = Option("dead-token", .text("TOKEN[:UNIX_SECONDS]"), repeatable: true)
        .help("Put this token on the feedback service's list; may be repeated.")
    static let feedbackCutAfter = Option("feedback-cut-after", .count(1...Int.max))
        .help("Close the connection after N bytes of the first feedback list; the next list has the rest.")
    static let state = Option("state", .file("DIR"))
        .help("Keep the certificate authority in this folder, so that each start has the same root certificate.")
    static let pedantic = Option("pedantic", .flag)
        .help("Refuse what Apple tolerates: DER signatures, iat as a string, connections that do not negotiate h2.")
    static let allowUnknownTypes = Option("allow-unknown-types", .flag)
        .help("Accept push types that this version does not know, to any topic.")
    static let anyTopic = Option("any-topic", .flag)
        .help("Accept each device token for any topic; without this, only for the first topic that it was used with.")
    static let caOut = Option("ca-out", .file("FILE"))
        .help("Write the root certificate to this file instead of standard output (-).")
    static let requestLog = Option("log", .file("FILE"))
        .help("Append a line for each request and each failed connection to this file; - is standard output.")
    static let answer = Option("answer", .text("PREFIX=STATUS[:REASON[:UNIX_MS]][+SECONDS][*TIMES]"), repeatable: true)
        .help(
            "The answer to pushes whose token begins with PREFIX; may be repeated; the longest matching prefix applies. STATUS may "
                + "be silence or reset, +SECONDS is a retry-after, *TIMES limits the uses for each device token. In place of a prefix, "
                + "broadcast, create, read, remove or list selects requests about channels, and export, poll or download those to the "
                + "export service."
        )
    static let roundTrip = Option("round-trip", .duration(.zero ... .seconds(60)), default: "0s")
        .help("Simulate network latency: the round-trip time, half of it in each direction.")
    static let delay = Option("delay", .duration(.zero ... .seconds(3_600)), default: "0s")
        .help("Time to wait before each answer.")
    static let goAwayAfter = Option("goaway-after", .count(1...Int.max))
        .help("Close each connection with GOAWAY after N requests, all of which are answered.")
    static let resetAfter = Option("reset-after", .count(1...Int.max))
        .help("Reset each connection at request N, which gets no answer.")
    static let maxStreams = Option("max-streams", .count(1...1_000_000))
        .help("Allow N concurrent streams. By default, as at Apple: 1000, but 1 until the first provider token.")
    static let allowTopic = Option("allow-topic", .text("TOPIC[+SECONDS]"), repeatable: true)
        .help(
            "Accept only this topic from provider tokens; may be repeated. With +SECONDS, the topic is added that long after the start, "
                + "and connections that have already pushed refuse it, as at Apple."
        )

    // pyapns
    /// The same option for `pyapns`.
    static let pyapnsPort = Option("port", .count(0...65_535), default: "7077")
        .help("The port to listen on; 0 chooses a free port.")
    static let accessToken = Option("access-token", .text("TOKEN"), secrecy: .hidden)
        .help("The token that clients must send; required unless --host is a loopback address.")
    static let addApps = Option("add-apps", .flag)
        .help("Let every client add apps with 'provision'; otherwise it refuses an app that does not exist.")
    static let replaceCredentials = Option("replace-credentials", .flag)
        .help(
            "Let every client that has the access token replace certificates with 'provision'; otherwise it keeps them."
        )
    static let certificateFolder = Option("certificate-folder", .file("DIR"))
        .help("Let 'provision' read certificates from files in this folder; otherwise clients send their text.")

    // web
    /// The same option for `web`.
    static let webHTTP = Option("http", .address, default: "127.0.0.1:9465").help("Address to serve the dashboard on.")
    static let password = Option("password", .text("TEXT"), secrecy: .hidden)
        .help(
            "The password for reading the dashboard. If the address is not a loopback address, one of --password-file, "
                + "--operator-password-file and --trusted-proxy is required."
        )
    static let operatorPassword = Option("operator-password", .text("TEXT"), secrecy: .hidden)
        .help("The password for reading and changing: pause apps, set limits, cancel, requeue, send test pushes.")
    static let localChanges = Option("local-changes", .flag)
        .help("Let everyone on this machine change things without a password. Only with a loopback address.")
    static let trustedProxy = Option("trusted-proxy", .text("IP"), repeatable: true)
        .help("The address of a proxy that authenticates users and names them in --user-header; may be repeated.")
    static let userHeader = Option("user-header", .text("NAME"), default: "X-Forwarded-User")
        .help("The header in which the trusted proxy names the user.")
    static let operators = Option("operator", .text("USER"), repeatable: true)
        .help("A user of the trusted proxy who may change things; may be repeated; * means every user.")
    static let publicHost = Option("public-host", .text("NAME"), repeatable: true)
        .help(
            "A host name by which users reach the trusted proxy, which must forward it; may be repeated. Required if the "
                + "proxy is on this machine."
        )
    static let showContents = Option(
        "show-contents",
        .choice(ContentRight.allCases.map(\.rawValue)),
        default: ContentRight.nobody.rawValue
    )
    .help("Who may see whole device tokens and the contents of messages; others see only the ends of a token.")

    /// The options that every command takes.
    static let common: [Option] = [logLevel, logFormat]

    /// Every option that a command takes, once.
    static let all: [Option] = Command.all.flatMap(\.allOptions).reduce(into: []) { all, option in
        if !all.contains(where: { $0.flag == option.flag }) { all.append(option) }
    }
}

import ApplePushSimulator
import CarillonIO
import CarillonWeb
import FoundationEssentials

extension Command {
    static let simulator = Command(
        "simulator",
        roles: [],
        summary: "Run a simulator of APNs that checks pushes as Apple does.",
        discussion: """
            Creates a certificate authority and writes the root certificate to --ca-out or standard output; pass it to 'app add
            --gateway-ca'. With --state, later starts have the same root certificate. Accepts any client certificate, and provider
            tokens signed by any key, or only by the key in --file. SIGTERM ends it. Exits with 1 when the request log could not
            be written.

            With --channel-port, it also manages the channels of Live Activities, and accepts broadcasts to them on --port. With
            --binary-port, it also speaks the legacy binary protocol (commands 0, 1 and 2), with certificates only. With
            --feedback-port, it is also the legacy feedback service: the first client with a certificate for a topic gets the
            tokens of that topic that were answered with 410. With --http, it is also Apple's export service of metrics, over
            HTTP.
            """,
        options: [
            .host, .serverName, .port, .channelPort, .binaryPort, .feedbackPort, .deadToken, .feedbackCutAfter, .caOut,
            .state,
            .pedantic, .anyTopic, .allowUnknownTypes, .requestLog, .answer, .delay, .roundTrip, .goAwayAfter,
            .resetAfter, .maxStreams,
            .http.help("Address to serve the counts of GET /stats and the export service on, such as 127.0.0.1:9000."),
            .environment.help("The Apple environment that it simulates."),
            .file.help("The only signing key (.p8) to accept."), .keyID, .teamID, .allowTopic,
        ],
        examples: [
            "carillon simulator --ca-out ca.pem --log requests.log --answer dead=410:Unregistered",
            "carillon simulator --round-trip 200ms --ca-out ca.pem",
            "carillon simulator --host 0.0.0.0 --name apns.test --ca-out ca.pem --log -",
            "carillon simulator --answer 'd4=429:TooManyRequests*2' --http 127.0.0.1:9000",
        ],
        isService: true,
        run: { try await SimulatorCommand(invocation: $0).run() }
    )
}

private struct SimulatorCommand {
    let invocation: Invocation

    /// Nil for standard output.
    private var caOut: String? { invocation.settings.text(.caOut).flatMap { $0 == "-" ? nil : $0 } }
    private var requestLog: String? { invocation.settings.text(.requestLog).flatMap { $0 == "-" ? nil : $0 } }

    func run() async throws -> ExitStatus {
        let configuration = try configuration()
        // Checked before anything is created: an error in a path leaves no certificate and no log behind.
        for path in [caOut, requestLog] { if let path { try SmallFile.checkMayWrite(path) } }
        let simulator = try APNsSimulator(configuration)
        return try await EventLoop.with(name: "command") { loop in
            let server = statisticsServer(of: simulator)
            let end: @Sendable () async -> Void = {
                server?.stop()
                await simulator.stop()
            }
            let statistics = try await Cleanup.after(end) {
                try await Interruption.wait(on: loop) {
                    try await simulator.start()
                    try server?.start()
                    try announce(simulator, server)
                }
                return await simulator.statistics()
            }
            invocation.console.log.info(
                "The simulator has ended.",
                ["requests": statistics.requests, "delivered": statistics.delivered, "refused": statistics.refused]
            )
            guard statistics.logErrors == 0 else {
                throw CommandError(
                    .failed,
                    "Not all requests are in \(requestLog ?? "standard output"): it could not be written.",
                    hint: "Is the disk full? The requests were still answered."
                )
            }
            return .done
        }
    }

    /// Serves its counts as JSON under /stats, and the export service of metrics, if --http was given.
    private func statisticsServer(of simulator: APNsSimulator) -> WebServer? {
        invocation.settings.address(.http).map { address in
            let list = Route(.get, "/") { _ in
                Response(
                    text:
                        "GET /stats: counts of requests and answers, as JSON.\n/v1/dataExports: Apple's export service.\n"
                )
            }
            let stats = Route(.get, "/stats") { _ in Response(json: await simulator.statistics().json) }
            return WebServer(
                host: address.host,
                port: address.port,
                admission: { $0.refusalOfName(at: address) },
                routes: [list, stats] + simulator.exports.routes
            )
        }
    }

    private func announce(_ simulator: APNsSimulator, _ server: WebServer?) throws {
        if let path = caOut {
            try SmallFile.write(simulator.rootPEM, to: path)
        } else {
            invocation.console.output.write(simulator.rootPEM)
        }
        invocation.console.log.info(
            "The simulator is listening.",
            [
                "host": invocation.settings.text(.host), "port": simulator.port,
                "channel_port": simulator.channelPort, "binary_port": simulator.binaryPort,
                "feedback_port": simulator.feedbackPort, "http_port": server?.port,
                "ca": caOut,
            ]
        )
    }

    /// A topic, or TOPIC+SECONDS for one that is added later.
    private func allow(_ text: String, in configuration: inout SimulatorConfiguration) throws {
        guard let plus = text.firstIndex(of: "+") else { return configuration.topics.append(text) }
        guard let seconds = UInt32(text[text.index(after: plus)...]) else {
            throw UsageError("--allow-topic takes TOPIC or TOPIC+SECONDS, got '\(text)'.")
        }
        configuration.laterTopics[String(text[..<plus])] = .seconds(Int64(seconds))
    }

    private func configuration() throws -> SimulatorConfiguration {
        let settings = invocation.settings
        var configuration = SimulatorConfiguration()
        configuration.host = settings.text(.host) ?? configuration.host
        configuration.serverNames += settings.texts(.serverName)
        configuration.port = UInt16(settings.count(.port))
        configuration.channelPort = settings.countIfAny(.channelPort).map(UInt16.init)
        configuration.binaryPort = settings.countIfAny(.binaryPort).map(UInt16.init)
        configuration.feedbackPort = settings.countIfAny(.feedbackPort).map(UInt16.init)
        configuration.deadTokens = try settings.texts(.deadToken).map(DeadToken.init(parsing:))
        configuration.feedbackCutAfter = settings.countIfAny(.feedbackCutAfter)
        if configuration.feedbackPort == nil, !configuration.deadTokens.isEmpty || configuration.feedbackCutAfter != nil
        {
            throw UsageError("--dead-token and --feedback-cut-after need --feedback-port.")
        }
        configuration.environment = settings.text(.environment) == "sandbox" ? .sandbox : .production
        for text in settings.texts(.allowTopic) { try allow(text, in: &configuration) }
        configuration.isPedantic = settings.isOn(.pedantic)
        configuration.allowsUnknownTypes = settings.isOn(.allowUnknownTypes)
        configuration.bindsTokens = !settings.isOn(.anyTopic)
        configuration.stateFolder = settings.text(.state)
        let log = invocation.console.log
        configuration.failureObserver = { failure in
            log.warning(
                failure.isHandshake ? "A handshake has failed." : "A connection has failed.",
                ["connection": failure.connection, "error": failure.message]
            )
        }
        configuration.answers = try settings.texts(.answer).map(AnswerRule.init(parsing:))
        for oddity in configuration.answers.compactMap(\.oddity) { log.warning(oddity, [:]) }
        configuration.delay = settings.duration(.delay)
        configuration.distance = settings.duration(.roundTrip)
        configuration.goAwayAfter = settings.countIfAny(.goAwayAfter)
        configuration.resetAfter = settings.countIfAny(.resetAfter)
        configuration.maximumStreams = settings.countIfAny(.maxStreams).map(UInt32.init)
        configuration.logFile = settings.text(.requestLog)
        if settings.text(.file) == nil, settings.text(.keyID) != nil || settings.text(.teamID) != nil {
            throw UsageError("--key-id and --team-id are about the signing key in --file.")
        }
        if let path = settings.text(.file) {
            guard let keyID = settings.text(.keyID), let teamID = settings.text(.teamID) else {
                throw UsageError("--file is a signing key here: give --key-id and --team-id too.")
            }
            for (name, id) in [("--key-id", keyID), ("--team-id", teamID)] where id.utf8.count != 10 {
                throw UsageError("\(name) takes ten characters, and \(id) has \(id.count).")
            }
            let pem = try SmallFile.read(path).text
            configuration.providerKeys = [try ProviderKey(pem: pem, keyID: keyID, teamID: teamID)]
        }
        return configuration
    }
}

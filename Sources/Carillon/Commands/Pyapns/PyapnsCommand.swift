import CarillonIO
import CarillonPostgres
import CarillonSchema
import CarillonWeb

extension Command {
    static let pyapns = Command(
        "pyapns",
        roles: [],
        summary: "Answer the XML-RPC calls of pyapns clients, from the database.",
        discussion: """
            For applications that call pyapns 0.4: they keep their client, and need not provision again after a restart. Workers
            send the pushes.

            'provision' adds an app with its certificate only with --add-apps, and replaces a certificate with a newer one only
            with --replace-credentials. 'notify' enqueues, and returns when the messages are committed. 'feedback' returns the
            dead tokens that no earlier call has returned.

            Listens on this machine only, unless --host names another address and there is an access token, which clients pass as
            a password (http://any:TOKEN@host:7077/) or as a bearer token. A login with carillon_app and carillon_worker can run
            it too, but cannot add apps or replace certificates. SIGTERM ends it.
            """,
        options: [.host, .pyapnsPort, .accessToken, .addApps, .replaceCredentials, .certificateFolder, .database],
        exits: [
            .unavailable: "The database could not be reached at the start.",
            .configuration: "The schema or rights must be changed, or the database is a copy that was not adopted.",
        ],
        examples: [
            "carillon pyapns --database postgresql://localhost/shop",
            "carillon pyapns --host 0.0.0.0 --access-token-file token.txt",
        ],
        isService: true,
        run: { try await PyapnsCommand(invocation: $0).run() }
    )
}

private struct PyapnsCommand {
    /// How long calls in progress may take after the request to stop.
    private static let drainTimeout = Duration.seconds(10)

    let invocation: Invocation

    func run() async throws -> ExitStatus {
        let settings = invocation.settings
        let host = settings.text(.host) ?? "127.0.0.1"
        let token = try settings.text(.accessToken).map { text throws(UsageError) in try AccessToken(text) }
        guard Address.isLoopback(host) || token != nil else {
            throw UsageError(
                "With --host \(host), other machines could send pushes: give clients a token, and name its file with "
                    + "--access-token-file."
            )
        }
        guard !settings.isOn(.replaceCredentials) || token != nil else {
            throw UsageError(
                "With --replace-credentials, every program on this machine could replace certificates: give clients a token, "
                    + "and name its file with --access-token-file."
            )
        }
        // The fault for a path that cannot be read does not say why.
        if let folder = settings.text(.certificateFolder), !SmallFile.isFolder(folder) {
            throw UsageError("--certificate-folder takes the path of a folder that exists, not '\(folder)'.")
        }
        return try await EventLoop.with(name: "command") { loop in
            try await DatabaseScope.with(invocation, on: loop) { connection in
                try await SchemaCheck.run(on: connection)
                try await InstallationCheck.run(on: connection)
            }
            return try await EventLoop.with(name: "large-calls") {
                try await serve(at: host, token, on: loop, large: $0)
            }
        }
    }

    private func serve(
        at host: String,
        _ token: AccessToken?,
        on loop: EventLoop,
        large largeLoop: EventLoop
    ) async throws -> ExitStatus {
        let (settings, log) = (invocation.settings, invocation.console.log)
        let database = ServiceDatabase.pyapns(settings.database, loop: loop, log: log)
        let pyapnsLog = PyapnsLog(log)
        let service = PyapnsService(
            database: database,
            largeCalls: LargeCalls(on: largeLoop),
            log: pyapnsLog,
            certificateFolder: settings.text(.certificateFolder),
            adds: settings.isOn(.addApps),
            replaces: settings.isOn(.replaceCredentials)
        )
        let tokens = token.map {
            AccessTokenSource($0, path: settings.file(of: .accessToken)) { pyapnsLog.tokenFailed($0) }
        }
        let endpoint = PyapnsEndpoint(service: service, token: tokens, log: pyapnsLog)
        let server = endpoint.server(host, UInt16(settings.count(.port)))
        return try await Cleanup.after({
            server.stop()
            await database.close()
        }) {
            try await invocation.manager.watching(loop) {
                try await Interruption.wait(on: loop) {
                    try server.start()
                    log.info("Listening for calls of pyapns clients.", ["host": host, "port": server.port])
                    invocation.manager.tellReady()
                }
                invocation.manager.tellStopping()
                await server.drain(on: loop, within: Self.drainTimeout)
                return .done
            }
        }
    }
}

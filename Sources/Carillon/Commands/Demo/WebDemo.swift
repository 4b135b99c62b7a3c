import ApplePushSimulator
import CarillonDashboard
import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import CarillonWeb

/// What `carillon demo --web` leaves running: a dashboard with apps, traffic, failures and a broadcast, until it is interrupted.
struct WebDemo: Sendable {
    /// Enqueues pushes to made-up tokens. The gateway's answer to each depends on the first digits of its token.
    private static let traffic = Statement(
        "web_demo_traffic",
        """
        SELECT carillon.enqueue($1, ARRAY(
            SELECT CASE WHEN random() < 0.02 THEN 'dead' WHEN random() < 0.02 THEN 'bad0' WHEN random() < 0.03 THEN '5030'
                ELSE 'a000' END || lpad(to_hex((random() * 1e9)::int), 60, '0') FROM generate_series(1, $2)),
            title => $3, body => 'From carillon demo --web', reference => $4)
        """
    )
    private static let scheduled = Statement(
        "web_demo_scheduled",
        """
        SELECT carillon.enqueue('shop', ARRAY[lpad(to_hex(n), 64, '0')], alert => 'Your basket is still here',
            run_at => now() + n * interval '10 minutes', reference => 'basket ' || n)
        FROM generate_series(1, 12) n
        """
    )
    private static let activities = Statement(
        "web_demo_activities",
        """
        WITH registered AS MATERIALIZED (
            SELECT n, carillon.register_token('shop', lpad(to_hex(n), 64, 'b'), kind => 'live_activity') FROM generate_series(1, 5) n)
        SELECT carillon.update_activity('shop', ARRAY[lpad(to_hex(n), 64, 'b')], '{"status": "on its way"}',
            run_at => now() + n * interval '10 minutes', reference => 'parcel ' || n) FROM registered WHERE n <= 2
        """
    )
    private static let channels = Statement(
        "web_demo_channels",
        "SELECT carillon.request_channel('shop', reference => match) FROM unnest(ARRAY['final', 'semifinal 1', 'semifinal 2']) match"
    )
    private static let register = Statement(
        "web_demo_register",
        """
        INSERT INTO carillon.tokens (app_id, token, last_update)
        SELECT a.id, CASE WHEN n % 40 = 0 THEN 'dead' WHEN n % 90 = 0 THEN 'bad0' ELSE 'a000' END || lpad(to_hex(n), 60, '0'),
            now() - interval '30 days'
        FROM carillon.apps a, generate_series(1, $1) n WHERE a.name = 'news'
        """
    )
    private static let broadcast = Statement(
        "web_demo_broadcast",
        "SELECT carillon.broadcast('news', title => 'Evening news', body => 'What happened today', reference => 'evening')"
    )
    /// Made-up counts of the previous day: a shop with busy and quiet hours, four broadcasts of news, and half an hour in which the
    /// gateway was overloaded.
    private static let day = Statement(
        "web_demo_day",
        """
        WITH minutes AS (
            SELECT date_trunc('minute', now()) - ago * interval '1 minute' AS minute, ago,
                ago BETWEEN 200 AND 230 AS is_outage, 0.85 + 0.3 * random() AS noise
            FROM generate_series(1, 1440) AS ago
        )
        INSERT INTO carillon.push_counts (minute, app_id, worker_id, sent, failed, retried)
        SELECT d.minute, a.id, 0, d.sent, CASE WHEN d.ago > 60 THEN d.sent * 0.02 ELSE 0 END,
            CASE WHEN d.is_outage THEN d.sent * 4 ELSE d.sent * 0.01 END
        FROM (
            SELECT m.*, 'shop' AS app, 1200 * m.noise * (0.55 + 0.45 * cos(2 * pi() * m.ago / 1440))
                * CASE WHEN m.is_outage THEN 0.2 ELSE 1 END AS sent
            FROM minutes m
            UNION ALL
            SELECT m.*, 'news', 6000 * m.noise FROM minutes m WHERE m.ago % 360 BETWEEN 315 AND 325
        ) AS d JOIN carillon.apps a ON a.name = d.app
        """
    )

    let address: Address
    let console: Console
    let loop: EventLoop

    /// Returns when it is interrupted, which is its normal end.
    func run() async throws -> ExitStatus {
        var configuration = SimulatorConfiguration()
        configuration.answers = try PrivateServers.answers.map(AnswerRule.init(parsing:))
        configuration.channelPort = 0
        let servers = PrivateServers(configuration: configuration, console: console, loop: loop)
        return try await servers.run { try await play($0, $1) }
    }

    private func play(_ url: String, _ gateway: APNsSimulator) async throws {
        try await DatabaseScope.with(DatabaseSource(url), on: loop, application: "carillon demo") { connection in
            try await prepare(connection, gateway)
            let workers = try DemoWorkers(
                count: 2,
                database: url,
                name: "demo",
                isCounted: false,
                isSilent: true,
                console: console
            )
            let dashboard = DashboardService(
                databases: [DatabaseSetting(url)],
                access: WebAccess(WebAccess.Rules(letsMachineChange: true, contents: .operators)),
                at: address,
                loop: loop,
                log: console.log
            )
            try await Cleanup.after({
                await dashboard.stop()
                await workers.end()
            }) {
                let here = try dashboard.start()
                console.print(
                    """
                    Open http://\(here)/ in a browser. Two workers send for three apps, one of \
                    which lacks its credential, and a broadcast is under way. On the pages you can pause, limit, cancel, requeue and \
                    send test pushes. The counts of the day before are made up.
                    What the third app lacks is there: carillon app set weather --credential weather --database '\(url)'
                    For SQL: psql '\(url)'
                    Ctrl-C stops everything.
                    """
                )
                try await keepEnqueueing(on: connection)
            }
        }
    }

    private func prepare(_ connection: PostgresConnection, _ gateway: APNsSimulator) async throws {
        let database = DemoDatabase(connection: connection)
        for app in ["shop", "news", "weather"] {
            let certificate = try DemoDatabase.certificate(for: app, of: gateway)
            try await database.prepare(gateway, app: app, credential: certificate)
        }
        let apps = AppStore(connection)
        try await connection.execute(Self.day, Parameters())
        // The broadcast takes some minutes.
        try await apps.change("news") { $0.maxRate = 100 }
        try await apps.change("weather") { $0.credential = nil }
        try await connection.execute(Self.register, Parameters(30_000 as Int64))
        try await connection.execute(Self.broadcast, Parameters())
        try await connection.execute(Self.scheduled, Parameters())
        try await connection.execute(Self.activities, Parameters())
        try await connection.execute(Self.channels, Parameters())
        try await connection.execute(Self.traffic, Parameters("weather", 3 as Int64, "Rain at five", "rain"))
    }

    /// Enqueues some pushes each second, as an application would, until it is interrupted.
    private func keepEnqueueing(on connection: PostgresConnection) async throws {
        var order = 1
        while true {
            let pushes = Int64.random(in: 1...40)
            try await connection.execute(
                Self.traffic,
                Parameters("shop", pushes, "Order \(order) is on its way", "order \(order)")
            )
            order += 1
            try await loop.sleep(for: .seconds(1))
        }
    }
}

import CarillonIO
import CarillonPostgres
import CarillonWeb

/// The dashboards of some databases, as the options say: for `web`, and for a worker that serves them beside its work.
struct DashboardService: Sendable {
    private let databases: [WebDatabase]
    private let server: WebServer
    private let address: Address

    init(
        _ settings: Settings,
        databases sources: [DatabaseSetting],
        at address: Address,
        loop: EventLoop,
        log: Log
    ) throws(UsageError) {
        let access = try WebAccess(settings, to: address)
        let databases = sources.map { WebDatabase($0.source, loop: loop, log: log) }
        let webLog = WebLog(log)
        let dashboards = zip(DatabasePlace.of(sources), databases).map { place, database in
            Dashboard(place: place, database: database, access: access, log: webLog)
        }
        server = DashboardServer(dashboards: dashboards, access: access, loop: loop, log: webLog).server(at: address)
        self.databases = databases
        self.address = address
    }

    func start(_ log: Log) throws {
        try server.start()
        let here = Address(host: address.host == "0.0.0.0" ? "127.0.0.1" : address.host, port: server.port)
        log.info("The dashboard is served.", ["address": "http://\(here)/", "port": server.port])
    }

    func drain(on loop: EventLoop, within limit: Duration) async { await server.drain(on: loop, within: limit) }

    func stop() async {
        server.stop()
        for database in databases { await database.close() }
    }
}

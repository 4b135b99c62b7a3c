import CarillonIO
import CarillonPostgres
import CarillonWeb

/// A dashboard and its database, as the options say: for `web`, and for a worker that serves one beside its work.
struct DashboardService: Sendable {
    private let database: WebDatabase
    private let server: WebServer
    private let address: Address

    init(
        _ settings: Settings,
        database source: DatabaseSource,
        at address: Address,
        loop: EventLoop,
        log: Log
    ) throws(UsageError) {
        let access = try WebAccess(settings, to: address)
        database = WebDatabase(source, loop: loop, log: log)
        server = Dashboard(
            database: database,
            access: access,
            log: log,
            loop: loop
        )
        .server(at: address)
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
        await database.close()
    }
}

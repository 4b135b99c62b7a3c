import CarillonDashboard
import CarillonIO
import CarillonWeb

/// The dashboards of some databases, configured by options: for `web`, and for a worker with --web.
struct DashboardService: Sendable {
    private let dashboards: DashboardServer
    private let server: WebServer
    private let address: Address

    init(
        _ settings: Settings,
        databases: [DatabaseSetting],
        at address: Address,
        loop: EventLoop,
        log: Log
    ) throws(UsageError) {
        let access = try WebAccess(settings, to: address)
        self.init(databases: databases, access: access, at: address, loop: loop, log: log)
    }

    init(databases: [DatabaseSetting], access: WebAccess, at address: Address, loop: EventLoop, log: Log) {
        let log = WebLog(log)
        dashboards = DashboardServer(
            databases.map { ($0.text, $0.source) },
            DashboardConfiguration(version: Program.version, access: access, loop: loop) { log.tell($0) }
        )
        server = dashboards.server(at: address)
        self.address = address
    }

    /// Starts the server, and returns the address at which this machine reaches it.
    func start() throws -> Address {
        try server.start()
        return Address(host: address.host == "0.0.0.0" ? "127.0.0.1" : address.host, port: server.port)
    }

    func start(_ log: Log) throws {
        let here = try start()
        log.info("The dashboard is served.", ["address": "http://\(here)/", "port": here.port])
    }

    func drain(on loop: EventLoop, within limit: Duration) async { await server.drain(on: loop, within: limit) }

    func stop() async {
        server.stop()
        await dashboards.close()
    }
}

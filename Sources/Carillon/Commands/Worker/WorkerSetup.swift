import ApplePush
import CarillonPostgres
import CarillonPushQueue
import Glibc

extension WorkerOptions {
    /// The options that the initializers below read.
    static let options: [Option] = [
        .once, .maxInFlight, .connections, .idleTimeout, .requestTimeout, .drainTimeout, .lease, .settleAfter,
        .retryBase, .retryCap, .retention, .feedbackInterval,
    ]

    init(_ settings: Settings, database: DatabaseSource) {
        self.init()
        self.database = database
        host = Self.hostName
        processID = getpid()
        name = "\(host):\(processID)"
        version = Program.version
        once = settings.isOn(.once)
        maxInFlight = settings.count(.maxInFlight)
        lease = settings.duration(.lease)
        drainTimeout = settings.duration(.drainTimeout)
        settleAfter = settings.duration(.settleAfter)
        // Some answers may take twice the timeout: the wait for a connection has one of its own.
        stuckAfter = .seconds(60) + settings.duration(.requestTimeout) * 2
        retry = RetryPolicy(base: settings.duration(.retryBase), cap: settings.duration(.retryCap))
        idleTimeout = settings.duration(.idleTimeout)
        retention = settings.duration(.retention)
        feedbackInterval = settings.duration(.feedbackInterval)
    }

    static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "unknown" }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

extension HTTP2Configuration {
    init(_ settings: Settings) {
        self.init()
        connections = settings.count(.connections)
        requestTimeout = settings.duration(.requestTimeout)
        totalTimeout = max(totalTimeout, settings.duration(.requestTimeout))
        idleTimeout = settings.duration(.idleTimeout)
    }
}

extension BinaryConfiguration {
    init(_ settings: Settings, _ log: Log) {
        self.init()
        observer = RefutationLog(log: log)
        idleTimeout = settings.duration(.idleTimeout)
    }
}

/// Logs that a gateway of the binary protocol has refused pushes that already counted as sent.
private struct RefutationLog: APNs.Observer {
    let log: Log

    func connectionEnded(_ end: APNs.EndedConnection) {
        guard end.refuted > 0 else { return }
        log.error(
            "A binary gateway refused pushes too late: they count as sent, but may not have arrived.",
            [
                "gateway": end.gateway.description, "pushes": end.refuted, "error": end.error?.message,
                "remedy":
                    "Check that the gateway speaks the binary protocol and is not overloaded: its errors must come within 3 s.",
            ]
        )
    }
}

import CarillonIO
import CarillonPushQueue
import CarillonText
import CarillonWeb

/// Warnings that a client can cause with every request. Each is logged at once, and then once a minute with the number of
/// repetitions.
final class ClientWarnings: Sendable {
    private let log: Log
    private let repeated = Guarded(RepeatedEvents<String>(interval: .seconds(60)))

    init(_ log: Log) { self.log = log }

    /// - Parameters:
    ///   - value: warnings with different values are separate.
    ///   - details: fields of the occurrence that is logged.
    func warn(_ message: String, _ name: String, _ value: String, _ details: (String, any JSONConvertible)...) {
        let fields = [(name, value as any JSONConvertible)] + details
        guard let times = repeated.withLock({ $0.add(of: message + value, at: .now) }) else {
            return log.write(.debug, message, fields)
        }
        log.write(.warning, message, fields + (times > 1 ? [("times", times)] : []))
    }

    /// Logs what a server has done to protect itself from its clients.
    func tell(_ event: WebServer.Event) {
        switch event {
        case .idleConnectionClosed:
            warn("Too many connections are open.", "reason", "idle ones are closed for new ones")
        case .allConnectionsBusy: warn("Too many requests are under way.", "reason", "further clients wait")
        case .bodyRefused: warn("Requests are refused.", "reason", "they are too large")
        case .slowClientClosed:
            warn("Clients do not read large responses.", "reason", "their connections are closed for others")
        }
    }
}

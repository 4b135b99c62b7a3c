import CarillonIO
import CarillonPushQueue
import CarillonWeb
import Synchronization

/// The log of the service. What a client can cause at every request is logged at once and then once a minute, with the number
/// of times since.
final class PyapnsLog: Sendable {
    let log: Log
    private let repeated = Mutex(RepeatedEvents<String>(interval: .seconds(60)))

    init(_ log: Log) { self.log = log }

    func failed(_ fault: XMLRPCFault) {
        guard fault.code == .unavailable else {
            return log.debug("A call was refused.", ["code": fault.code.rawValue, "fault": fault.text])
        }
        warn("Calls fail.", "fault", fault.text)
    }

    /// By the headers of the request.
    func refused(_ response: Response, _ reason: String) {
        if response.status == 401 { return warn("Requests are refused.", "reason", reason) }
        log.debug("A request was refused.", ["status": response.status, "reason": reason])
    }

    func tell(_ event: WebEvent) {
        switch event {
        case .idleConnectionClosed:
            warn("Too many connections are open.", "reason", "idle ones are closed for new ones")
        case .allConnectionsBusy: warn("Too many calls are under way.", "reason", "further clients wait")
        case .bodyRefused: warn("Calls are refused.", "reason", "they are too large")
        }
    }

    func tokenFailed(_ sentence: String) {
        warn("The access token cannot be read again: the earlier one stays.", "error", sentence)
    }

    private func warn(_ message: String, _ name: String, _ value: String) {
        guard let times = repeated.withLock({ $0.add(of: message + value, at: .now) }) else {
            return log.write(.debug, message, [(name, value)])
        }
        log.write(.warning, message, [(name, value)] + (times > 1 ? [("times", times)] : []))
    }
}

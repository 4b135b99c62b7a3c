import CarillonWeb

/// The log of the service.
struct PyapnsLog: Sendable {
    let log: Log
    private let warnings: ClientWarnings

    init(_ log: Log) {
        self.log = log
        warnings = ClientWarnings(log)
    }

    func failed(_ fault: XMLRPCFault) {
        guard fault.code == .unavailable else {
            return log.debug("A call was refused.", ["code": fault.code.rawValue, "fault": fault.text])
        }
        warnings.warn("Calls fail.", "fault", fault.text)
    }

    /// By the headers of the request.
    func refused(_ response: Response, _ reason: String) {
        if response.status == 401 { return warnings.warn("Requests are refused.", "reason", reason) }
        log.debug("A request was refused.", ["status": response.status, "reason": reason])
    }

    func tell(_ event: WebEvent) {
        switch event {
        case .idleConnectionClosed:
            warnings.warn("Too many connections are open.", "reason", "idle ones are closed for new ones")
        case .allConnectionsBusy: warnings.warn("Too many calls are under way.", "reason", "further clients wait")
        case .bodyRefused: warnings.warn("Calls are refused.", "reason", "they are too large")
        }
    }

    func tokenFailed(_ sentence: String) {
        warnings.warn("The access token cannot be read again: the earlier one stays.", "error", sentence)
    }
}

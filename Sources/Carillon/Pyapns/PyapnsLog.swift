import CarillonPushQueue
import CarillonSchema
import CarillonWeb

struct PyapnsLog: Sendable {
    let log: Log
    let warnings: ClientWarnings

    init(_ log: Log) {
        self.log = log
        warnings = ClientWarnings(log)
    }

    func failed(_ fault: XMLRPCFault, _ error: any Error) {
        guard fault.code == .unavailable else {
            return log.debug("A call was refused.", ["code": fault.code.rawValue, "fault": fault.text])
        }
        let cause = Explanation((error as? SettingsError)?.underlying ?? error)
        warnings.warn("Calls fail.", "error", cause.sentence, ("reference", cause.reference), ("fault", fault.text))
    }

    func crowded(_ fault: XMLRPCFault, waiting: Int) {
        warnings.warn("Large calls are refused.", "fault", fault.text, ("waiting", waiting))
    }

    func ignored(_ notice: String, app: String) {
        warnings.warn("A notification was enqueued that devices ignore.", "app", app, ("notice", notice))
    }

    /// Logs a request that was refused because of its headers.
    func refused(_ response: Response, _ reason: String) {
        if response.status == 401 { return warnings.warn("Requests are refused.", "reason", reason) }
        log.debug("A request was refused.", ["status": response.status, "reason": reason])
    }

    func tokenFailed(_ sentence: String) {
        warnings.warn("The access token cannot be read again: the earlier one stays.", "error", sentence)
    }
}

import CarillonPostgres
import CarillonText

extension WebhookRecord {
    /// Nil if nothing is wrong. A receiver that has failed for less than an hour may be restarting.
    /// - Parameter now: in microseconds since 1970.
    package func finding(at now: Int64) -> Finding? {
        let remedy: String
        switch state {
        case .paused:
            remedy =
                "When its receiver works again, run 'carillon webhook resume \(name.shellQuoted)'. Events are deleted after the retention."
        case .failing where failingSince.map({ $0 < Moment(now - 3_600_000_000) }) ?? false:
            remedy = "Check its receiver. Workers attempt it again, and pause it after three days of failures."
        case .failing, .active: return nil
        }
        return Finding(
            .webhook(name),
            .warning,
            "The webhook \(name) of \(app) has been \(stateText)".asSentence + " " + backlog.asSentence,
            remedy: remedy
        )
    }
}

import CarillonPostgres
import CarillonText

extension WebhookRecord {
    /// What its receiver has not accepted, as the end of a sentence.
    package var backlog: String {
        let age = lagSeconds.map { ", the oldest for \(DurationText.age(Int64(min(max($0, 0), 1e15))))" } ?? ""
        return "\(Counted.text(events, "event")) \(events == 1 ? "waits" : "wait")\(age)"
    }

    /// Nil if nothing is wrong. A receiver that has failed for less than an hour may be restarting.
    /// - Parameter now: in microseconds since 1970.
    package func finding(at now: Int64) -> Finding? {
        let title = "The webhook \(name) of \(app)"
        switch state {
        case .paused:
            return Finding(
                .app(app),
                .warning,
                "\(title) is paused: \(pausedReason ?? ""). \(backlog.asSentence)",
                remedy:
                    "When its receiver works again, run 'carillon webhook resume \(name.shellQuoted)'. Events are deleted after the retention."
            )
        case .failing where failingSince.map({ $0 < Moment(now - 3_600_000_000) }) ?? false:
            return Finding(
                .app(app),
                .warning,
                "\(title) has failed since \(failingSince?.readable ?? ""): \(lastError ?? ""). \(backlog.asSentence)",
                remedy: "Check its receiver. Workers attempt it again, and pause it after three days of failures."
            )
        case .failing, .ok: return nil
        }
    }
}

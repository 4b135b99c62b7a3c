package import CarillonPostgres
import CarillonText

extension WebhookRecord {
    /// Since when it is paused or fails; nil if it is active.
    package var since: Moment? {
        switch state {
        case .active: nil
        case .failing: failingSince ?? failedAt
        case .paused: pausedAt
        }
    }

    /// Who has paused it and why, or why its last attempt failed: "by anna: a sale".
    package var cause: String? {
        switch state {
        case .active: nil
        case .failing: lastError
        case .paused: ["by \(pausedBy ?? "a worker")", pausedReason].compactMap(\.self).joined(separator: ": ")
        }
    }

    /// "active", "paused since 2026-11-22 11:45:00 UTC by anna: a sale".
    package var stateText: String { stateText(writing: \.readable) }

    package func stateText(writing time: (Moment) -> String) -> String {
        let start = since.map { " since \(time($0))" } ?? ""
        return state.rawValue + start + (cause.map { (state == .paused ? " " : ": ") + $0 } ?? "")
    }

    /// What its receiver has not accepted: "2 events wait, the oldest for 3h".
    package var backlog: String {
        let oldest = lagSeconds.map { ", the oldest for \(Self.age(of: $0))" } ?? ""
        return waiting.prefixed(Counted.text(waiting.value, "event")) + (waiting.value == 1 ? " waits" : " wait")
            + oldest
    }

    /// A time that a row names may be any.
    package static func age(of seconds: Double) -> String { DurationText.age(Int64(min(max(seconds, 0), 1e15))) }
}

import CarillonText

/// Finds apps that are paused, held or late, and apps most of whose pushes fail.
extension AppStatus {
    /// An app is late if its oldest ready job has waited for so many seconds.
    package static let lateAfter: Int64 = 300
    /// From this number on, failures are reported whatever their reason: one or two may be dead tokens.
    private static let manyFailures: Int64 = 3

    /// - Parameter apps: all apps.
    package static func findings(of apps: [AppStatus]) -> [Finding] {
        guard apps.isEmpty else { return apps.flatMap(\.findings) }
        return [
            Finding(
                .apps,
                .warning,
                "There is no app yet.",
                remedy: "Import a credential with 'carillon credential import', and add an app with 'carillon app add'."
            )
        ]
    }

    /// What to do if it is held.
    package var holdRemedy: String {
        credentialStatus == .missing
            ? "Choose a credential: 'carillon app set \(name.shellQuoted) --credential NAME'."
            : "Fix the cause; workers try again by themselves within a minute."
    }

    private var findings: [Finding] {
        if isPaused { return [pause] }
        if let hold { return [hold] + [failing].compactMap(\.self) }
        return [failing, late].compactMap(\.self)
    }

    private var waiting: String {
        let more = scheduled.value > 0 ? " (\(scheduled.text) more scheduled for later)" : ""
        return ready.text + (ready.value == 1 ? " job waits" : " jobs wait") + more
    }

    /// Its failures are the usual reason, and not reported beside it.
    private var pause: Finding {
        let reason = pauseReason.map { ": \($0)" } ?? "."
        return Finding(
            .app(name),
            pauseReason == nil ? .warning : .critical,
            "The app \(name) is paused, and \(waiting)\(reason)".asSentence,
            remedy: "Resume it: 'carillon app resume \(name.shellQuoted)'."
        )
    }

    private var hold: Finding? {
        holdReason.map { reason in
            Finding(
                .app(name),
                .critical,
                "The app \(name) cannot send, and \(waiting): \(reason)".asSentence,
                remedy: holdRemedy
            )
        }
    }

    /// The breaker, which pauses apps for some reasons, needs many pushes.
    private var failing: Finding? {
        let change = failureReason.flatMap { ReasonText.remedy(for: $0, of: name) }
        guard failedLastHour > sentLastHour, failedLastHour >= Self.manyFailures || change != nil else { return nil }
        let ended = failedLastHour + sentLastHour
        let failed = failedLastHour == ended ? "all" : Int(failedLastHour).grouped
        let remedy = change ?? "See which: 'carillon failures list --app \(name.shellQuoted)'."
        return Finding(
            .failures(of: name),
            sentLastHour == 0 ? .critical : .warning,
            "Of \(Counted.text(ended, "push", "pushes")) of the app \(name) in the last hour, \(failed) failed"
                + (failureReason.map { ", most of them as \($0)." } ?? "."),
            remedy: failureReason.map { ReasonText.meaning(of: $0) + " " + remedy } ?? remedy
        )
    }

    private var late: Finding? {
        guard let oldestAge, oldestAge >= Self.lateAfter else { return nil }
        return Finding(
            .app(name),
            .warning,
            "The oldest ready job of the app \(name) has waited for \(DurationText.age(oldestAge)).",
            remedy: "Start more workers, or raise --connections or the app's max_rate."
        )
    }
}

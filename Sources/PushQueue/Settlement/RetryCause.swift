import ApplePush

/// Why a push is tried again.
package struct RetryCause: Hashable, Sendable {
    /// Nil: no answer came.
    package let status: Int16?
    /// Apple's, or a `LocalReason`.
    package let reason: String

    init(_ outcome: Outcome, of outcomes: Outcomes) {
        status = outcome.status == 0 ? nil : Int16(clamping: outcome.status)
        // A gateway may send reasons of any length.
        let reason =
            outcome.verdict == .unknown ? LocalReason.outcomeUnknown.name : outcomes.text(of: outcome.reason)
        self.reason = reason.utf8.count > 256 ? String(reason.prefix(64)) : reason
    }
}

/// Why a push that waited for a connection is not sent.
enum WaitingEnd {
    /// No connection could be made.
    case unconnected(PushError)
    /// Connections could be made, or nobody knows.
    case withheld(PushError)

    static let late = Self.withheld(
        PushError(
            .timedOut,
            "No connection took the push in time: the gateway answers nothing, or takes few pushes at a time. Send it again "
                + "later."
        )
    )

    static let cancelled = Self.withheld(PushError(.cancelled, "The task was cancelled before the push was sent."))

    static let notPermitted = Self.withheld(
        PushError(.cancelled, "The permit to send ended before the push was sent.")
    )

    static let refused = Self.withheld(
        PushError(
            .unreachable,
            "The gateway refused the push again and again, without processing it. Send it again later."
        )
    )
}

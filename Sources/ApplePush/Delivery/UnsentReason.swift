/// Why a push that waited for a connection was not sent.
enum UnsentReason {
    case noConnection(PushError)
    /// Any reason other than a failure to connect.
    case withheld(PushError)

    static let late = withheld(
        .timedOut,
        "No connection took the push in time: the gateway does not answer, or takes few pushes at a time. Send it again later."
    )
    static let cancelled = withheld(.cancelled, "The task was cancelled before the push was sent.")
    static let notPermitted = withheld(.cancelled, "The permit to send ended before the push was sent.")
    static let refused = withheld(
        .unreachable,
        "The gateway refused the push several times without processing it. Send it again later."
    )

    private static func withheld(_ code: PushError.Code, _ message: String) -> Self {
        .withheld(PushError(code, message))
    }
}

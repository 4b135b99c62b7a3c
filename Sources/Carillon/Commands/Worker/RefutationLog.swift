import ApplePush

/// Logs that a gateway of the binary protocol has refused pushes that already counted as sent.
struct RefutationLog: APNs.Observer {
    let log: Log

    func connectionEnded(_ end: APNs.EndedConnection) {
        guard end.refuted > 0 else { return }
        log.error(
            "A binary gateway refused pushes too late: they count as sent, but may not have arrived.",
            [
                "gateway": end.gateway.description, "pushes": end.refuted, "error": end.error?.message,
                "remedy":
                    "Check that the gateway speaks the binary protocol and is not overloaded: its errors must come within 3 s.",
            ]
        )
    }
}

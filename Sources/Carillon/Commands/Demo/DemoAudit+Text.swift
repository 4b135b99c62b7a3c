extension DemoAudit {
    /// The table of outcomes, and the result of each comparison.
    func text(for stream: TextStream) -> String {
        let failures = ledger.failuresByReason.sorted { $0.key < $1.key }.map { ("failed, \($0.key)", $0.value) }
        let outcomes = [("sent", ledger.sent)] + failures + (ledger.expired > 0 ? [("expired", ledger.expired)] : [])
        let sums = [("total", ledger.sent + ledger.failed + ledger.expired), ("enqueued", plan.messages)]
        let table = TextTable(outcomes + sums, .left("OUTCOME") { $0.0 }, .right("PUSHES") { $0.1.grouped })
        var text = "\n" + table.text(for: stream) + "\n"
        text += "retried: \(ledger.retried.grouped) (throttled with 429 at first, sent the second time)\n"
        text +=
            "reaped: \(ledger.reaped.grouped) dead tokens; kept: \(plan.count(of: .renewed).grouped) that were "
            + "registered again after Apple reported them dead\n\n"
        for check in checks {
            let mark = check.holds ? stream.styled("ok    ", .green) : stream.styled("WRONG ", .red)
            text += mark + check.sentence + "\n"
        }
        return text + "\n"
    }

    var json: JSONValue {
        .object([
            ("enqueued", .int(Int64(plan.messages))), ("sent", .int(Int64(ledger.sent))),
            ("failed", .int(Int64(ledger.failed))), ("expired", .int(Int64(ledger.expired))),
            (
                "failed_by_reason",
                .object(ledger.failuresByReason.sorted { $0.key < $1.key }.map { ($0.key, .int(Int64($0.value))) })
            ),
            ("retried", .int(Int64(ledger.retried))), ("reaped", .int(Int64(ledger.reaped))),
            (
                "checks",
                .array(checks.map { .object([("check", .string($0.sentence)), ("holds", .bool($0.holds))]) })
            ),
        ])
    }
}

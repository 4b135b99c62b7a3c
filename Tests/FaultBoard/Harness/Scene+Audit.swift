import ApplePushSimulator
import CarillonIO
import Testing

extension Scene {
    /// As in W3.
    private static var name: String {
        String((Test.current?.name ?? "a case").drop { $0 == "`" }.prefix { $0 != ":" })
    }

    /// Ends a case: the queue drains, the workers end with status 0, and each invariant holds.
    /// - Parameters:
    ///   - duplicates: how many pushes the gateway may have accepted a second time (I4).
    ///   - localReasons: reasons of Carillon's own for which pushes may have failed (I3).
    ///   - limit: how long the queue may take to drain after the last fault (I8).
    @discardableResult
    func finish(
        duplicates: Int = 0,
        localReasons: Set<String> = [],
        within limit: Duration = .seconds(180),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Audit {
        let begin = MonotonicInstant.now
        try await drained(within: limit)
        let took = MonotonicInstant.now - begin
        for end in try await fleet.stop() { Issue.record("\(end)", sourceLocation: sourceLocation) }
        for worker in fleet.all {
            for secret in Secrecy.breaches(in: worker.said).prefix(5) {
                Issue.record("I12: \(worker.name) said \(secret)", sourceLocation: sourceLocation)
            }
        }
        await invariants.end()
        let audit = Audit(
            ledger,
            try await RecordedOutcomes.read(by: client),
            // A barrier of the binary protocol has no device token.
            record.deliveries.filter { !$0.token.isEmpty },
            Audit.Allowance(duplicates: duplicates, localReasons: localReasons)
        )
        let findings = await invariants.findings
        if !audit.breaches.isEmpty || !findings.isEmpty { fleet.tell() }
        for finding in findings { Issue.record("\(finding)", sourceLocation: sourceLocation) }
        for breach in audit.breaches.prefix(20) { Issue.record("\(breach)", sourceLocation: sourceLocation) }
        if audit.breaches.count > 20 {
            Issue.record("and \(audit.breaches.count - 20) breaches more", sourceLocation: sourceLocation)
        }
        print(
            "fault board: \(Self.name): \(ledger.pushes) pushes, "
                + "\(audit.duplicates) sent twice of \(duplicates) allowed, drained after \(took)"
        )
        return audit
    }
}

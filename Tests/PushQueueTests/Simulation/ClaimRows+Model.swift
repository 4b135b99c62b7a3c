import ApplePush

@testable import CarillonPushQueue

extension ClaimRows {
    /// The answer that a worker reads of the model's claim.
    init(_ claim: ModelClaim?, next: ModelJob?, lane: Lane, appIsKnown: Bool = true) {
        self.init()
        self.next = next.map { NextRow(id: $0.id, pushes: $0.tokens.count) }
        guard let claim else { return }
        var jobs = ClaimedJobs(
            id: claim.id,
            app: claim.app,
            lane: lane.number,
            claimedAt: claim.claimedAt,
            installation: (1, 2),
            areQuarantined: claim.isQuarantined
        )
        var seen = TokenSet()
        let plain = Array("{}".utf8)
        let update = Array(#"{"aps":{"timestamp":0,"event":"update"}}"#.utf8)
        for row in claim.jobs {
            let job = ClaimedJobs.Job(
                id: row.id,
                origin: row.origin,
                broadcast: nil,
                reference: nil,
                createdAt: claim.claimedAt,
                expiresAt: row.expiresAt,
                attempt: row.attempt,
                mayRepeat: row.mayRepeatOnceMore
            )
            jobs.begin(
                job,
                topic: RawSpan(),
                topicIsAllowed: true,
                collapseID: RawSpan(),
                priority: nil,
                pushType: row.isUpdate ? .liveActivity : row.isPaced ? .background : .alert,
                onUnknown: row.mayRepeatOnceMore ? nil : "fail",
                appIsKnown: appIsKnown
            )
            jobs.add(payload: row.isUpdate ? update.span.bytes : plain.span.bytes)
            seen.begin()
            for token in row.tokens {
                let bytes = Array(token.utf8)
                jobs.add(bytes.span.bytes, unlessIn: &seen)
            }
        }
        rows = claim.jobs.count
        lowest = claim.jobs.map(\.id).min()
        self.jobs = jobs
    }
}

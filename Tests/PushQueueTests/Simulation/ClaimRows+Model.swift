import ApplePush

@testable import CarillonPushQueue

extension ClaimRows {
    /// The rows that a worker reads of a claim of the model.
    init(_ claim: ModelClaim?, next: ModelJob?, lane: Lane, appIsKnown: Bool = true) {
        self.init()
        self.next = next.map { NextRow(id: $0.id, pushes: $0.tokens.count) }
        guard let claim else { return }
        let claimed = ClaimedJobs(
            id: claim.id,
            app: claim.app,
            lane: lane.number,
            claimedAt: claim.claimedAt,
            areQuarantined: claim.isQuarantined
        )
        var reader = ClaimReader(claimed, installation: (1, 2))
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
            reader.begin(
                job,
                topic: RawSpan(),
                topicIsAllowed: true,
                collapseID: RawSpan(),
                priority: nil,
                pushType: row.isUpdate ? .liveActivity : row.isPaced ? .background : .alert,
                onUnknown: row.mayRepeatOnceMore ? nil : "fail",
                appIsKnown: appIsKnown
            )
            reader.add(payload: row.isUpdate ? update.span.bytes : plain.span.bytes)
            for token in row.tokens {
                let bytes = Array(token.utf8)
                reader.add(bytes.span.bytes)
            }
        }
        rows = claim.jobs.count
        lowest = claim.jobs.map(\.id).min()
        jobs = reader.claim
    }
}

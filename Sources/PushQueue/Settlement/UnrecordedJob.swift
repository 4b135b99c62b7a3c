import ApplePush
import CarillonIO
import CarillonPostgres

/// A job whose outcomes PostgreSQL refuses to write, as the arguments of `carillon.settle_unrecorded`: its counts, and the status of
/// each push. Its only texts are the tokens, reduced to ASCII.
struct UnrecordedJob {
    /// Writes it; returns a `SettleEffect`.
    static let statement = Statement(
        "settle_unrecorded",
        """
        SELECT carillon.settle_unrecorded(app => $1, claim => $2, worker => $3, claimed => $4, settlement_number => $5, job => $6, \
        sent => $7, failed => $8, expired => $9, token => $10, status => $11, apns_id => $12)
        """
    )

    private let claim: ClaimedJobs
    private let job: ClaimedJobs.Job
    private var sent: Int32 = 0
    private var failed: Int32 = 0
    private var expired: Int32 = 0
    private var tokens = PostgresArray(of: .text)
    private var statuses = PostgresArray(of: .int2)
    private var ids = PostgresArray(of: .uuid)

    /// - Parameter earlier: The outcomes in the first settlement, if there was one.
    init(_ index: Int32, of claim: ClaimedJobs, _ outcomes: Outcomes, after earlier: Outcomes?) {
        self.claim = claim
        job = claim[index]
        for push in job.positions where earlier.map({ $0[Int(push)].verdict == .pending }) ?? true {
            let outcome = outcomes[Int(push)]
            if outcome.verdict == .accepted { sent += 1 } else { failed += 1 }
            add(.push(push), token: claim.batch.token(of: Int(push)), status: outcome.status)
        }
        guard earlier == nil else { return }
        expired = job.expired
        failed += job.refused
        for (number, push) in claim.refusedPushes.enumerated() where push.job == index {
            let token = String(decoding: claim.texts[push.token.range], as: UTF8.self)
            add(.refused(Int32(number)), token: token, status: 0)
        }
    }

    private mutating func add(_ push: FailedPush.Token, token: String, status: UInt16) {
        let plain = token.utf8.prefix(512).map { 0x20...0x7e ~= $0 ? $0 : UInt8(ascii: "?") }
        tokens.append(String(decoding: plain, as: UTF8.self))
        statuses.append(status == 0 ? nil : Int16(clamping: status))
        ids.append(claim.id(of: push))
    }

    func parameters(worker: Int64, settlementNumber: Int16) -> Parameters {
        Parameters(
            claim.app,
            claim.id,
            worker,
            Moment(claim.claimedAt),
            settlementNumber,
            job.id,
            sent,
            failed,
            expired,
            tokens,
            statuses,
            ids
        )
    }
}

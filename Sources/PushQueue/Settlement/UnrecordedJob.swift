import ApplePush
import CarillonIO
import CarillonPostgres

/// A job whose outcomes PostgreSQL refuses to write, as the arguments of `carillon.settle_unrecorded`: the status of each push, from
/// which the counts follow. Its only texts are the tokens, reduced to ASCII.
struct UnrecordedJob {
    /// Writes it; returns a `SettleEffect`.
    static let statement = Statement(
        "settle_unrecorded",
        """
        SELECT carillon.settle_unrecorded(app => $1, claim => $2, worker => $3, claimed => $4, settlement_number => $5, job => $6, \
        expired => $7, token => $8, status => $9, apns_id => $10)
        """
    )

    private let claim: ClaimedJobs
    private let job: ClaimedJobs.Job
    private let expired: Int32
    private var tokens = PostgresArray(of: .text)
    private var statuses = PostgresArray(of: .int2)
    private var ids = PostgresArray(of: .uuid)

    /// - Parameter earlier: The outcomes in the first settlement, if there was one.
    init(_ index: Int32, of claim: ClaimedJobs, _ outcomes: Outcomes, after earlier: Outcomes?) {
        self.claim = claim
        job = claim[index]
        expired = earlier == nil ? job.expired : 0
        for push in job.positions where earlier.map({ $0[Int(push)].verdict == .pending }) ?? true {
            let outcome = outcomes[Int(push)]
            // The status 200 means that it was sent. In an answer of a binary gateway, that number means nothing.
            let status = outcome.verdict == .unknown ? 0 : outcome.status
            add(.push(push), token: claim.batch.token(of: Int(push)), status: status)
        }
        guard earlier == nil else { return }
        for (number, push) in claim.refusedPushes.enumerated() where push.job == index {
            let token = String(decoding: claim.batch.bytes[push.token.range], as: UTF8.self)
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
            expired,
            tokens,
            statuses,
            ids
        )
    }
}

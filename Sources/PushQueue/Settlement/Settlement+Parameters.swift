import ApplePush
package import CarillonPostgres

extension Settlement {
    /// Writes the settlement; answers with a `SettlementEffect`.
    package static let statement = Statement("settle", "SELECT carillon.settle(\(SettleColumns.list))")

    /// - Parameter part: How many parts of the claim were settled before.
    package func parameters(of claim: ClaimedJobs, worker: Int64, part: Int16 = 0) -> Parameters {
        let settled = SettledClaim(self, of: claim, worker: worker, part: part)
        var parameters = Parameters(capacity: 1024 + ended.count * 24 + failures.count * 160)
        for column in SettleColumns.all { column.append(of: settled, to: &parameters) }
        return parameters
    }
}

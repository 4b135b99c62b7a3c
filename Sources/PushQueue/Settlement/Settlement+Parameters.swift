import ApplePush
package import CarillonPostgres

extension Settlement {
    /// Writes the settlement; answers with a `SettlementEffect`.
    package static let statement = Statement("settle", "SELECT carillon.settle(\(SettleColumns.list))")

    /// - Parameter settlementNumber: How many settlements of the claim there were before.
    package func parameters(of claim: ClaimedJobs, worker: Int64, settlementNumber: Int16 = 0) -> Parameters {
        let settled = SettledClaim(self, of: claim, worker: worker, settlementNumber: settlementNumber)
        var parameters = Parameters(capacity: 1024 + ended.count * 24 + failures.count * 160)
        for column in SettleColumns.all { column.append(of: settled, to: &parameters) }
        return parameters
    }
}

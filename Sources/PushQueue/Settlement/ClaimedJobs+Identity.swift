import ApplePush
import CarillonPostgres

extension ClaimedJobs {
    /// The identity of the push.
    func id(of token: FailedPush.Token) -> PostgresUUID {
        switch token {
        case .push(let place): PostgresUUID(batch.pushes[Int(place)].id)
        case .refusal(let place): PostgresUUID(refusals[Int(place)].id)
        }
    }
}

extension PostgresUUID {
    init(_ id: PushID) { self.init(high: id.high, low: id.low) }
}

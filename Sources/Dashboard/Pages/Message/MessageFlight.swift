import CarillonPostgres
import CarillonSchema
import CarillonText

/// A job of a message that a worker has in flight.
struct MessageFlight: Record {
    let job: Int64
    let claimedAt: Moment
    let attempt: Int64
    let tokens: Int64
    let worker: String?
    let json: JSONValue
}

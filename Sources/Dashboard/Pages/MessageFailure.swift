import CarillonSchema

/// A push of a message that failed.
struct MessageFailure: Decodable, Sendable {
    let record: FailureRecord
    /// How many of those that were looked at have its status and reason.
    let ofReason: Int64
}

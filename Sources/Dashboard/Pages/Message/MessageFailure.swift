import CarillonSchema

/// A failed push of a message.
struct MessageFailure: Decodable, Sendable {
    let record: FailureRecord
    /// How many of the failures read have the same status and reason.
    let ofReason: Int64
}

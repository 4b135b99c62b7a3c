/// A push that a connection took from the queue: which one of which delivery it is.
struct QueuedPush: Equatable {
    /// What the queue calls the delivery.
    let delivery: Int32
    let position: Int32
}

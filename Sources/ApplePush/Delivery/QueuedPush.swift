/// A push that a connection took from the queue.
struct QueuedPush: Equatable {
    /// The queue's number of the delivery.
    let delivery: Int32
    let position: Int32
}

/// Pushes that lie in a row in their delivery and carry the same message: what a connection takes at once.
struct DeliveryRun {
    /// What the queue calls the delivery.
    let number: Int32
    let delivery: Delivery
    let positions: Range<Int>

    func push(at position: Int) -> QueuedPush {
        QueuedPush(delivery: number, position: Int32(position))
    }
}

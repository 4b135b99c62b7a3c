/// Pushes of one delivery and one message that a connection takes at once.
struct DeliveryRun {
    let number: Int32
    let serial: Int
    let batch: PushBatch
    let positions: Range<Int>

    func push(at position: Int) -> QueuedPush { QueuedPush(delivery: number, position: Int32(position)) }
}

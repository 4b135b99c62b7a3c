/// Wakes one listener. Rings while the listener is busy wake it once.
struct Bell: Sendable {
    let rings: AsyncStream<Void>
    private let rope: AsyncStream<Void>.Continuation

    init() {
        (rings, rope) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func ring() {
        rope.yield()
    }
}

/// Wakes one listener. However often it is rung meanwhile, the listener wakes once.
struct Bell: Sendable {
    let rings: AsyncStream<Void>
    private let rope: AsyncStream<Void>.Continuation

    init() {
        (self.rings, self.rope) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func ring() {
        self.rope.yield()
    }
}

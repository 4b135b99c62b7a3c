/// Wakes one listener. Rings while the listener is busy wake it once.
package struct Bell: Sendable {
    package let rings: AsyncStream<Void>
    private let input: AsyncStream<Void>.Continuation

    package init() {
        (rings, input) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    package func ring() { input.yield() }

    /// Returns at a ring, at that time, or when the task is cancelled or the loop has ended.
    package func wait(until end: MonotonicInstant?, on loop: EventLoop) async {
        let alarm = end.map { end in
            Task {
                try? await loop.sleep(until: end)
                if !Task.isCancelled { ring() }
            }
        }
        for await _ in rings { break }
        alarm?.cancel()
    }
}

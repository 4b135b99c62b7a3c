import Synchronization

/// Event loops that are handed out one after another.
package final class EventLoopGroup: Sendable {
    package let loops: [EventLoop]
    private let handedOut = Atomic<UInt>(0)

    package init(count: Int, name: String = "loop") throws(IOError) {
        precondition(count > 0, "a group has at least one loop")
        var loops: [EventLoop] = []
        do {
            for index in 0..<count { try loops.append(EventLoop(name: "\(name)-\(index)")) }
        } catch {
            Self.shutDown(loops)
            throw error
        }
        self.loops = loops
    }

    package func next() -> EventLoop {
        loops[Int(handedOut.wrappingAdd(1, ordering: .relaxed).oldValue % UInt(loops.count))]
    }

    /// Stops all loops and waits for their threads. Must not be called on one of them.
    package func shutdown() { Self.shutDown(loops) }

    private static func shutDown(_ loops: [EventLoop]) {
        for loop in loops { loop.stop() }
        for loop in loops { loop.join() }
    }
}

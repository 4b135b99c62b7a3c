import Synchronization

/// Some loops, handed out in turn.
package final class EventLoopGroup: Sendable {
    package let loops: [EventLoop]
    private let turn = Atomic<Int>(0)

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
        let turn = self.turn.wrappingAdd(1, ordering: .relaxed).oldValue
        return loops[Int(UInt(bitPattern: turn) % UInt(loops.count))]
    }

    /// Stops all and waits for their threads; from none of them.
    package func shutdown() {
        Self.shutDown(loops)
    }

    private static func shutDown(_ loops: [EventLoop]) {
        for loop in loops { loop.stop() }
        for loop in loops { loop.join() }
    }
}

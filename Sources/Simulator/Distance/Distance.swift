import IO

/// How far away the simulator seems to be. Its links have a thread of their own: how long the simulator is busy must not
/// show in how long the way is.
final class Distance: Sendable {
    /// What HTTP/2 sends beside the bodies that its windows count: a thousand streams' fields, and handshakes.
    private static let beyondWindow = 4 << 20

    private let roundTrip: Duration
    /// How much may be under way on a link in either direction.
    private let limit: Int
    private let loop: EventLoop

    /// Nil where the simulator is next door.
    ///
    /// - Parameter window: What a client may send of bodies before it must wait: no client that heeds it waits for a link.
    init?(_ roundTrip: Duration, window: Int) throws(SimulatorError) {
        guard roundTrip > .zero else { return nil }
        self.roundTrip = roundTrip
        limit = window + Self.beyondWindow
        do {
            loop = try EventLoop(name: "distance")
        } catch {
            throw SimulatorError(.unavailable, "There is no thread for the distance: \(error).", underlying: error)
        }
    }

    /// Moves a client so far away: calls, on that loop, with the descriptor that stands for it from now on.
    func move(
        _ client: consuming Socket,
        on destination: EventLoop,
        _ accept: @escaping @Sendable (CInt) -> Void
    ) {
        let descriptor = client.release()
        let isTaken = loop.submit { [self] in
            // Without descriptors for a link the client is turned away, as it is where there is none for itself.
            guard let near = try? DistantLink.open(to: Socket(owning: descriptor), roundTrip, limit, on: loop) else {
                return
            }
            if !destination.submit({ accept(near) }) { _ = Socket(owning: near) }
        }
        if !isTaken { _ = Socket(owning: descriptor) }
    }

    /// Breaks off what is under way.
    func stop() {
        loop.stop()
        loop.join()
    }
}

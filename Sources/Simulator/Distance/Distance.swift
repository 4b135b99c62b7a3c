import CarillonIO

/// How far away the simulator seems to be. Its links have a thread of their own, so that a busy simulator does not seem to be
/// farther away.
final class Distance: Sendable {
    /// What HTTP/2 sends beside the bodies that its windows count: a thousand streams' fields, and handshakes.
    private static let beyondWindow = 4 << 20

    private let roundTrip: Duration
    /// How much may be under way on a link in either direction.
    private let limit: Int
    private let loop: EventLoop

    /// - Parameter window: How much of bodies a client may send ahead. One that keeps to it never waits for a link.
    init?(_ roundTrip: Duration, window: Int) throws(SimulatorError) {
        guard roundTrip > .zero else { return nil }
        self.roundTrip = roundTrip
        limit = window + Self.beyondWindow
        loop = try SimulatorError.unavailable("The distance cannot have a thread: ") { try EventLoop(name: "distance") }
    }

    /// Moves a client that far away. Calls `accept` on the destination with the descriptor that replaces the client's.
    func move(_ client: consuming Socket, on destination: EventLoop, _ accept: @escaping @Sendable (CInt) -> Void) {
        let descriptor = client.release()
        let isTaken = loop.submit { [self] in
            // Without free descriptors for a link the client is closed, as it is without one for itself.
            guard let near = try? DistantLink.open(to: Socket(owning: descriptor), roundTrip, limit, on: loop) else {
                return
            }
            if !destination.submit({ accept(near) }) { _ = Socket(owning: near) }
        }
        if !isTaken { _ = Socket(owning: descriptor) }
    }

    func stop() {
        loop.stop()
        loop.join()
    }
}

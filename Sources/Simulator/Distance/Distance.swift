import CarillonIO

/// Simulates a distance to clients. The links have their own thread, so that a busy simulator does not seem farther away.
final class Distance: Sendable {
    /// Room for bytes that HTTP/2's windows do not count: the fields of a thousand streams, and handshakes.
    private static let beyondWindow = 4 << 20

    private let roundTrip: Duration
    /// How much may be in transit on a link in each direction.
    private let limit: Int
    private let loop: EventLoop

    /// - Parameter window: How many bytes of bodies a client may send ahead. A client that respects it never waits for a link.
    init?(_ roundTrip: Duration, window: Int) throws(SimulatorError) {
        guard roundTrip > .zero else { return nil }
        self.roundTrip = roundTrip
        limit = window + Self.beyondWindow
        loop = try SimulatorError.unavailable("The simulated distance could not start a thread: ") {
            try EventLoop(name: "distance")
        }
    }

    /// Moves a client to the simulated distance. Calls `accept` on the destination with the descriptor that replaces the client's.
    func move(_ client: consuming Socket, on destination: EventLoop, _ accept: @escaping @Sendable (CInt) -> Void) {
        let descriptor = client.release()
        let isTaken = loop.submit { [self] in
            // If no descriptors are free for a link, close the client, as when none is free for the client itself.
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

import IO

/// Something of the simulator's that listens on a port, on the loop that it lives on.
protocol SimulatorService: Actor {
    nonisolated var loop: EventLoop { get }

    /// Somebody has come; the descriptor is the service's now.
    func accepted(_ descriptor: CInt)
}

extension SimulatorService {
    /// Listens there, for as long as the listener is kept, with clients that far away.
    func listener(host: String, port: UInt16, distance: Duration) throws(SimulatorError) -> Listener {
        let loop = self.loop
        do {
            return try Listener(host: host, port: port, on: loop) { [weak self] socket in
                var descriptor = socket.release()
                if distance > .zero {
                    // Without descriptors for a link the client is turned away, as it is where there is none for itself.
                    guard let near = try? DistantLink.open(to: Socket(owning: descriptor), distance, on: loop) else {
                        return
                    }
                    descriptor = near
                }
                guard let self else {
                    _ = Socket(owning: descriptor)
                    return
                }
                self.assumeIsolated { $0.accepted(descriptor) }
            }
        } catch {
            throw SimulatorError(.unavailable, error.message, underlying: error)
        }
    }
}

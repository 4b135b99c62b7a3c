import IO

/// Something of the simulator's that listens on a port, on the loop that it lives on.
protocol SimulatorService: Actor {
    nonisolated var loop: EventLoop { get }

    /// Somebody has come, perhaps after the service was stopped; the descriptor is the service's now.
    func accepted(_ descriptor: CInt)
}

extension SimulatorService {
    /// Listens there, for as long as the listener is kept, with clients that far away.
    func listener(host: String, port: UInt16, distance: Distance?) throws(SimulatorError) -> Listener {
        let loop = self.loop
        let accept: @Sendable (CInt) -> Void = { [weak self] descriptor in
            guard let self else {
                _ = Socket(owning: descriptor)
                return
            }
            self.assumeIsolated { $0.accepted(descriptor) }
        }
        do {
            return try Listener(host: host, port: port, on: loop) { socket in
                guard let distance else { return accept(socket.release()) }
                distance.move(socket, on: loop, accept)
            }
        } catch {
            throw SimulatorError(.unavailable, error.message, underlying: error)
        }
    }
}

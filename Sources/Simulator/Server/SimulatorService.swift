import IO

/// Something of the simulator's that listens on a port, on the loop that it lives on.
protocol SimulatorService: Actor {
    nonisolated var loop: EventLoop { get }

    /// Somebody has come; the descriptor is the service's now.
    func accepted(_ descriptor: CInt)
}

extension SimulatorService {
    /// Listens there, for as long as the listener is kept.
    func listener(host: String, port: UInt16) throws(SimulatorError) -> Listener {
        do {
            return try Listener(host: host, port: port, on: loop) { [weak self] socket in
                let descriptor = socket.release()
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

import IO
import TLS

/// Something of the simulator's that listens on a port, on the loop that it lives on.
protocol SimulatorService: Actor {
    nonisolated var loop: EventLoop { get }
    /// What a handshake is limited by.
    nonisolated var clock: any LimitClock { get }

    /// Somebody has come, perhaps after the service was stopped; the descriptor is the service's now.
    func accepted(_ descriptor: CInt)
}

extension SimulatorService {
    /// Shakes hands. A client that is refused may have sent more by then; it hears the alert all the same.
    func shakeHands(_ descriptor: CInt, _ context: TLSContext) async throws(TLSError) -> TLSStream {
        var stream = try TLSStream(server: context, socket: Socket(owning: descriptor))
        do throws(TLSError) {
            try await stream.shakeHands(until: clock.deadline(in: Stall.limit), on: loop)
        } catch {
            Farewell.begin(over: stream.descriptor, on: loop)
            throw error
        }
        return stream
    }

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

import CarillonIO
import CarillonTLS

/// A service of the simulator. It listens on a port and completes TLS handshakes, on its loop.
protocol SimulatorService: Actor {
    nonisolated var context: ServiceContext { get }
    var listening: ListeningSide { get set }

    /// Serves a client after its handshake.
    func serve(_ stream: consuming TLSStream, as number: Int) async throws

    /// The handshake of a client failed, or it could not be served.
    func failed(_ failure: ConnectionFailure)
}

extension SimulatorService {
    /// Starts to listen; returns the port.
    func listen(on port: UInt16) throws(SimulatorError) -> UInt16 {
        let (host, loop, distance) = (context.configuration.host, context.loop, context.distance)
        let accept: @Sendable (CInt) -> Void = { [weak self] descriptor in
            guard let self else {
                _ = Socket(owning: descriptor)
                return
            }
            assumeIsolated { $0.accept(descriptor) }
        }
        let listener = try SimulatorError.unavailable {
            try Listener(host: host, port: port, on: loop) { socket in
                guard let distance else { return accept(socket.release()) }
                distance.move(socket, on: loop, accept)
            }
        }
        listening.listener = listener
        return listener.port
    }

    /// Closes the port, and cancels the clients that are being served.
    func stopListening() async {
        listening.listener?.close()
        listening.listener = nil
        let tasks = Array(listening.tasks.values)
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    private func accept(_ descriptor: CInt) {
        guard listening.listener != nil else {
            _ = Socket(owning: descriptor)
            return
        }
        let number = listening.nextNumber()
        listening.tasks[number] = Task {
            do {
                let stream = try await shakeHands(descriptor)
                // The service may have stopped in the meantime.
                if listening.listener != nil { try await serve(stream, as: number) }
            } catch {
                // Stopping cancels handshakes, which is not the client's fault.
                if listening.listener != nil {
                    let (now, words) = (WallClock.milliseconds, "\(error)")
                    failed(ConnectionFailure(time: now, connection: number, isHandshake: true, message: words))
                }
            }
            listening.tasks[number] = nil
        }
    }

    /// Performs the handshake. A refused client may already have sent more, and must still receive the alert.
    private func shakeHands(_ descriptor: CInt) async throws(TLSError) -> TLSStream {
        var stream = try TLSStream(server: listening.tls, socket: Socket(owning: descriptor))
        do throws(TLSError) {
            try await stream.shakeHands(until: context.clock.deadline(in: Stall.limit), on: context.loop)
        } catch {
            LingeringClose.begin(over: stream.descriptor, on: context.loop)
            throw error
        }
        return stream
    }
}

package import IO
import Synchronization

/// Where a server of a test takes connections: a port of 127.0.0.1. Each connection is seen to in a task of its own, on
/// the loop; all of it ends with the test.
package actor Reception {
    /// What is done with a connection, given its number, counted from 1, and its descriptor, which is the service's own to
    /// close. Whatever it throws is the end of that connection, and the test sees what became of what was sent on it.
    package typealias Service = @Sendable (Int, CInt) async throws -> Void

    private let loop: EventLoop
    private let service: Service
    private nonisolated let accepted = Atomic<Int>(0)
    private var listener: Listener?
    private var tasks: [Task<Void, Never>] = []

    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private init(on loop: EventLoop, _ service: @escaping Service) {
        self.loop = loop
        self.service = service
    }

    /// - Parameter port: 0 lets the system choose.
    package static func with<R>(
        port: UInt16 = 0,
        on loop: EventLoop,
        _ service: @escaping Service,
        test: (Reception, UInt16) async throws -> R
    ) async throws -> R {
        let reception = Reception(on: loop, service)
        let port = try await reception.listen(port)
        return try await attempt {
            try await test(reception, port)
        } finally: {
            await reception.close()
        }
    }

    /// How many connections were accepted.
    package nonisolated var connections: Int { accepted.load(ordering: .relaxed) }

    private func listen(_ port: UInt16) throws -> UInt16 {
        let listener = try Listener(host: "127.0.0.1", port: port, on: loop) { socket in
            let descriptor = socket.release()
            self.assumeIsolated { $0.accept(descriptor) }
        }
        self.listener = listener
        return listener.port
    }

    private func close() async {
        listener?.close()
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    private func accept(_ descriptor: CInt) {
        let number = accepted.wrappingAdd(1, ordering: .relaxed).newValue
        tasks.append(Task { try? await service(number, descriptor) })
    }
}

package import CarillonIO
import Synchronization

/// Accepts the connections of a test's server on a port of 127.0.0.1. Each has its own task on the loop, which ends with
/// the test at the latest.
package actor Reception {
    /// Serves a connection, given its number, from 1, and its descriptor, which the service closes. An error ends the
    /// connection; the test sees the consequences.
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

import CarillonIO
import TestSupport
import Testing

@testable import ApplePush

/// Connecting before there are pushes.
@Suite struct PreparationTests {
    @Test func `preparing waits for room on a connection that is full`() async throws {
        let (arrived, mayAnswer) = (Gate(), Gate())
        let isAnswered = Guarded(false)
        try await RawGateway.withBackend { line in
            try await line.greet([(3, 1)])
            try await line.serve(1)
            guard let stream = try await line.nextRequest() else { return }
            arrived.open()
            await mayAnswer.pass()
            isAnswered.withLock { $0 = true }
            try await line.accept(stream)
            try await line.serve()
        } test: { _, gateway, backend in
            let credential = try TestCredential.certificate()
            #expect(await backend.deliver(batch(1), to: gateway, with: credential).allSatisfy { $0.status == 200 })
            async let second = backend.deliver(batch(1), to: gateway, with: credential)
            await arrived.pass()
            async let prepared: Void = backend.prepare(for: gateway, with: credential)
            mayAnswer.open()
            await prepared
            #expect(isAnswered.withLock { $0 })
            #expect(await second.allSatisfy { $0.status == 200 })
        }
    }

    @Test func `a shutdown and a cancelled caller end it`() async throws {
        let port = try SilentPort(host: "127.0.0.1")
        let gateway = Gateway(host: "127.0.0.1", port: port.port)
        let credential = try TestCredential.certificate()
        try await withBackend { backend in
            let cancelled = Task { await backend.prepare(for: gateway, with: credential) }
            cancelled.cancel()
            await cancelled.value
            let other = Task { await backend.prepare(for: gateway, with: credential) }
            await backend.shutdown()
            await other.value
            await backend.prepare(for: gateway, with: credential)
        }
    }
}

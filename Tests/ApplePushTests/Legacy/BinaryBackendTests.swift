import ApplePush
import CarillonIO
import TestSupport
import Testing

/// The binary protocol over real TLS, with gateways that follow a script.
@Suite struct BinaryBackendTests {
    private static func with(
        _ change: (inout BinaryConfiguration) -> Void = { _ in },
        _ script: @escaping RawGateway.Script,
        test: (RawGateway, Gateway, BinaryBackend) async throws -> Void
    ) async throws {
        var configuration = BinaryConfiguration.provenByErrors
        change(&configuration)
        let backend = BinaryBackend(configuration)
        try await RawGateway.with(alpn: [], script) { server, port in
            try await attempt {
                try await test(server, Gateway(host: "127.0.0.1", port: port, trust: .pem(server.rootPEM)), backend)
            } finally: {
                await backend.shutdown()
            }
        }
    }

    private static func deliver(_ count: Int, to gateway: Gateway, by backend: BinaryBackend) async throws -> Outcomes {
        await backend.deliver(batch(count), to: gateway, with: try TestCredential.certificate())
    }

    @Test(arguments: BinaryFormat.allCases)
    func `a push counts as accepted when no error came for the quiet period`(format: BinaryFormat) async throws {
        let seen = Guarded<[BinaryNotification]>([])
        try await Self.with {
            $0.format = format
            $0.quietPeriod = .milliseconds(100)
            $0.barrierAfter = .seconds(600)
        } _: { line in
            while let notification = try await line.nextNotification() { seen.withLock { $0.append(notification) } }
        } test: { server, gateway, backend in
            let outcomes = try await Self.deliver(500, to: gateway, by: backend)
            #expect(outcomes.allSatisfy { $0 == .accepted })
            // The gateway need not have read all that counts as delivered.
            try await eventually { seen.withLock { $0.count } == 500 }
            #expect(seen.withLock { $0.map(\.number) } == Array(0..<500))
            #expect(seen.withLock { $0.allSatisfy { $0.payload == #"{"aps":{"alert":"Hello"}}"# } })
            #expect(server.connections == 1)
        }
    }

    /// Of a thousand, one is refused, and the gateway says so when it has read all of them.
    @Test(arguments: [0, 1, 500, 998, 999])
    func `the pushes after a refused one are sent again, in one piece and once`(bad: Int) async throws {
        let taken = Guarded<[Int]>([])
        try await Self.with { line in
            guard line.number == 1 else {
                return try await line.acceptUntilBarrier { number in taken.withLock { $0.append(number) } }
            }
            var refusal: [UInt8] = []
            for _ in 0..<1000 {
                guard let next = try await line.nextNotification() else { return }
                if next.number == bad { refusal = next.refusal(8) }
                if refusal.isEmpty { taken.withLock { $0.append(next.number) } }
            }
            try await line.send(refusal)
        } test: { server, gateway, backend in
            let outcomes = try await Self.deliver(1000, to: gateway, by: backend)
            for number in outcomes.indices {
                #expect(outcomes[number].verdict == (number == bad ? .rejected : .accepted), "\(number)")
            }
            #expect(outcomes[bad].reason == .badDeviceToken)
            #expect(taken.withLock { $0 } == (0..<1000).filter { $0 != bad })
            // The last one needs no second connection: its error proves all.
            #expect(server.connections == (bad == 999 ? 1 : 2))
        }
    }

    @Test(arguments: [BinaryFormat.enhanced, .frames])
    func `a barrier proves many pushes at once, long before the quiet period`(format: BinaryFormat) async throws {
        try await Self.with {
            $0.format = format
            $0.barrierCount = 100
            $0.barrierAfter = .milliseconds(10)
        } _: { line in
            try await line.acceptUntilBarrier()
        } test: { server, gateway, backend in
            for _ in 1...3 {
                let outcomes = try await Self.deliver(200, to: gateway, by: backend)
                #expect(outcomes.allSatisfy { $0 == .accepted })
            }
            #expect(server.connections == 3)
        }
    }

    @Test func `after a barrier without an answer, silence decides, and no other barrier is sent`() async throws {
        let seen = Guarded((barriers: 0, pushes: 0))
        try await Self.with {
            $0.barrierTimeout = .milliseconds(100)
            $0.quietPeriod = .milliseconds(400)
        } _: { line in
            while let next = try await line.nextNotification() {
                seen.withLock { if next.token.isEmpty { $0.barriers += 1 } else { $0.pushes += 1 } }
            }
        } test: { server, gateway, backend in
            let certificate = try TestCredential.certificate()
            for _ in 1...2 {
                let outcomes = await backend.deliver(batch(10), to: gateway, with: certificate)
                #expect(outcomes.allSatisfy { $0 == .accepted })
            }
            // The gateway need not have read all that counts as delivered.
            try await eventually { seen.withLock { $0.pushes } == 20 }
            #expect(seen.withLock { $0.barriers } == 1)
            #expect(server.connections == 2)
        }
    }

    @Test func `a gateway that closes two connections because of barriers gets no other`() async throws {
        try await Self.with {
            // Long enough for a busy gateway to close before it.
            $0.quietPeriod = .seconds(4)
        } _: { line in
            while let next = try await line.nextNotification() {
                if next.token.isEmpty { return line.closeNotify() }
            }
        } test: { server, gateway, backend in
            let certificate = try TestCredential.certificate()
            for _ in 1...2 {
                let unknown = await backend.deliver(batch(10), to: gateway, with: certificate)
                #expect(unknown.allSatisfy { $0.verdict == .unknown })
            }
            let quiet = await backend.deliver(batch(10), to: gateway, with: certificate)
            #expect(quiet.allSatisfy { $0 == .accepted })
            #expect(server.connections == 3)
        }
    }

    @Test func `a full window is proven by barriers`() async throws {
        let numbers = Guarded<[Int]>([])
        try await Self.with {
            $0.window = 100
            $0.barrierCount = 100
            $0.barrierAfter = .seconds(600)
        } _: { line in
            try await line.acceptUntilBarrier { number in numbers.withLock { $0.append(number) } }
        } test: { server, gateway, backend in
            let outcomes = try await Self.deliver(500, to: gateway, by: backend)
            #expect(outcomes.allSatisfy { $0 == .accepted })
            #expect(numbers.withLock { $0 } == Array(0..<500))
            #expect(server.connections == 5)
        }
    }

    @Test func `a signing key is refused, since the protocol knows certificates only`() async throws {
        let backend = BinaryBackend()
        let outcomes = await backend.deliver(
            batch(2),
            to: Gateway(host: "127.0.0.1", port: 1),
            with: try TestCredential.providerToken()
        )
        #expect(outcomes.allSatisfy { $0.verdict == .safe })
        #expect(outcomes.connectFailure?.code == .invalidCredential)
        await backend.shutdown()
    }
}

extension RawLine {
    /// Reads notifications, and answers the one without a device token.
    fileprivate mutating func acceptUntilBarrier(_ accepted: (Int) -> Void = { _ in }) async throws {
        while let next = try await nextNotification() {
            if next.token.isEmpty { return try await send(next.refusal(2)) }
            accepted(next.number)
        }
    }
}

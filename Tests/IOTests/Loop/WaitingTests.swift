import CarillonIO
import TestSupport
import Testing

@Suite struct WaitingTests {
    @Test func `sleep lasts at least as long as asked for`() async throws {
        try await TestLoop.with { loop in
            let start = MonotonicInstant.now
            try await loop.sleep(until: start + .milliseconds(2))
            #expect(MonotonicInstant.now - start >= .milliseconds(2))
        }
    }

    @Test func `sleeping ends when its task is cancelled`() async throws {
        try await TestLoop.with { loop in
            let task = Task { try await loop.sleep(for: .seconds(3600)) }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test func `a task that is cancelled already does not sleep`() async throws {
        try await TestLoop.with { loop in
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await loop.sleep(for: .seconds(3600))
            }
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test func `many sleeping tasks, cancelled and not, all wake once`() async throws {
        try await TestLoop.with { loop in
            let cancelled = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        let sleeper = Task { try await loop.sleep(for: .microseconds(number * 20)) }
                        if number % 3 == 0 { sleeper.cancel() }
                        return (try? await sleeper.value) == nil
                    }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(cancelled <= 67)
        }
    }

    @Test func `sleeping tasks wake when the loop stops`() async throws {
        let loop = try EventLoop(name: "test")
        let task = Task { try await loop.sleep(for: .seconds(3600)) }
        loop.stop()
        loop.join()
        await #expect(throws: CancellationError.self) { try await task.value }
        // And nobody falls asleep on it any more.
        await #expect(throws: CancellationError.self) { try await loop.sleep(for: .seconds(3600)) }
    }

    @Test func `readiness comes when the descriptor is ready`() async throws {
        try await TestLoop.with { loop in
            let pair = try SocketPair()
            let left = pair.first.descriptor
            let deadline = MonotonicInstant.now + .seconds(60)
            async let ready = loop.readiness(of: left, for: .read, until: deadline, doing: "reading")
            #expect(try pair.second.write(([1] as [UInt8]).span.bytes) == .bytes(1))
            #expect(try await ready == .read)
            let writable = try await loop.readiness(of: left, for: .write, until: deadline, doing: "writing")
            #expect(writable == .write)
        }
    }

    @Test func `waiting for readiness times out, and names what took too long`() async throws {
        try await TestLoop.with { loop in
            let pair = try SocketPair()
            let left = pair.first.descriptor
            let error = await #expect(throws: IOError.self) {
                _ = try await loop.readiness(of: left, for: .read, until: .now, doing: "the greeting of localhost")
            }
            #expect(error?.code == .timedOut)
            #expect(error?.message == "the greeting of localhost took too long")
            _ = consume pair
        }
    }

    @Test func `waiting for readiness ends when its task is cancelled, and the descriptor can be watched again`()
        async throws
    {
        try await TestLoop.with { loop in
            let pair = try SocketPair()
            let left = pair.first.descriptor
            for _ in 0..<20 {
                let task = Task {
                    try await loop.readiness(of: left, for: .read, until: .distantFuture, doing: "reading")
                }
                task.cancel()
                let error = await #expect(throws: IOError.self) { try await task.value }
                #expect(error?.code == .cancelled)
            }
            _ = consume pair
        }
    }
}

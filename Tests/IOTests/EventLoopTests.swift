import IO
import Synchronization
import TestSupport
import Testing

/// An actor that lives on a loop.
actor Resident {
    let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { self.loop.asUnownedSerialExecutor() }
    private(set) var events: [String] = []

    init(on loop: EventLoop) {
        self.loop = loop
    }

    var isAtHome: Bool { self.loop.isCurrent }

    func note(_ event: String) {
        self.events.append(event)
    }

    /// Sets the timers in one turn, then waits until the last is due.
    func run(timers: [(name: String, after: Duration)]) async -> [String] {
        let start = MonotonicInstant.now
        for timer in timers {
            _ = self.loop.schedule(at: start + timer.after) { self.note(timer.name) }
        }
        try? await self.loop.sleep(until: start + (timers.map(\.after).max() ?? .zero))
        return self.events
    }
}

@Suite struct EventLoopTests {
    @Test func `an actor that names a loop runs on its thread`() async throws {
        try await TestLoop.with { loop in
            #expect(!loop.isCurrent)
            let resident = Resident(on: loop)
            #expect(await resident.isAtHome)
        }
    }

    @Test func `a task that prefers a loop runs on its thread`() async throws {
        try await TestLoop.with { loop in
            let isThere = await Task(executorPreference: loop) { loop.isCurrent }.value
            #expect(isThere)
        }
    }

    @Test func `timers run in the order in which they are due, and then in which they were set`() async throws {
        try await TestLoop.with { loop in
            let resident = Resident(on: loop)
            let events = await resident.run(timers: [
                ("third", .milliseconds(5)), ("first", .milliseconds(1)), ("second", .milliseconds(3)),
                ("fourth", .milliseconds(5)),
            ])
            #expect(events == ["first", "second", "third", "fourth"])
        }
    }

    @Test func `sleeping ends when its task is cancelled`() async throws {
        try await TestLoop.with { loop in
            let task = Task { try await loop.sleep(for: .seconds(3600)) }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test func `those who sleep are woken when the loop stops`() async throws {
        let loop = try EventLoop(name: "test")
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            loop.submit { continuation.yield() }  // runs before the sleep begins, in the order of the inbox
            try await loop.sleep(for: .seconds(3600))
        }
        for await _ in stream { break }
        loop.stop()
        loop.join()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}

import CarillonIO
import Synchronization
import TestSupport
import Testing

/// An actor that lives on a loop and writes down what happens to it.
actor Resident {
    let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private(set) var events: [String] = []

    init(on loop: EventLoop) {
        self.loop = loop
    }

    var isAtHome: Bool { loop.isCurrent }

    func note(_ event: String) {
        events.append(event)
    }

    /// Sets the timers in one iteration, then waits for one that is set and due last.
    func run(timers: [(name: String, after: Duration)], cancelling cancelled: String? = nil) async -> [String] {
        let start = MonotonicInstant.now
        for timer in timers {
            let token = loop.schedule(at: start + timer.after) { self.note(timer.name) }
            if timer.name == cancelled { loop.cancel(token) }
        }
        let end = start + (timers.map(\.after).max() ?? .zero)
        await withCheckedContinuation { over in
            _ = loop.schedule(at: end) { over.resume() }
        }
        return events
    }

    /// Gives an iteration one thing of each kind to do.
    func busyIteration() {
        loop.atEndOfIteration { self.note("end of iteration") }
        _ = loop.schedule(at: .now) { self.note("timer") }
        loop.submit { self.assumeIsolated { $0.note("errand") } }
        note("job")
    }

    /// Counts up for as long as others do.
    private var count = 0
    func increment() -> Int {
        count += 1
        return count
    }
}

@Suite struct EventLoopTests {
    @Test func `an actor that names a loop runs on its thread`() async throws {
        try await TestLoop.with { loop in
            #expect(!loop.isCurrent)
            #expect(loop.isIsolatingCurrentContext() == false)
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
            let events = await Resident(on: loop).run(timers: [
                ("third", .milliseconds(5)), ("first", .milliseconds(1)), ("second", .milliseconds(3)),
                ("fourth", .milliseconds(5)),
            ])
            #expect(events == ["first", "second", "third", "fourth"])
        }
    }

    @Test func `a timer that was cancelled does not run`() async throws {
        try await TestLoop.with { loop in
            let timers: [(String, Duration)] = [("kept", .milliseconds(1)), ("cancelled", .milliseconds(1))]
            #expect(await Resident(on: loop).run(timers: timers, cancelling: "cancelled") == ["kept"])
        }
    }

    @Test func `an iteration runs jobs, then timers, then what was deferred to its end`() async throws {
        try await TestLoop.with { loop in
            let resident = Resident(on: loop)
            await resident.busyIteration()
            try await loop.eventually("all was done") { await resident.events.count == 4 }
            #expect(await resident.events == ["job", "timer", "end of iteration", "errand"])
        }
    }

    @Test func `actions of many threads all run, one at a time`() async throws {
        try await TestLoop.with { loop in
            let resident = Resident(on: loop)
            await withTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask { for _ in 0..<500 { _ = await resident.increment() } }
                }
            }
            #expect(await resident.increment() == 4_001)
        }
    }

    @Test func `submitted actions run in order`() async throws {
        try await TestLoop.with { loop in
            let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
            for number in 0..<100 { loop.submit { continuation.yield(number) } }
            loop.submit { continuation.finish() }
            var numbers: [Int] = []
            for await number in stream { numbers.append(number) }
            #expect(numbers == Array(0..<100))
        }
    }

    @Test func `a group hands its loops out in turn`() throws {
        let group = try EventLoopGroup(count: 3)
        defer { group.shutdown() }
        let names = (0..<4).map { _ in group.next().name }
        #expect(names == ["loop-0", "loop-1", "loop-2", "loop-0"])
    }

    @Test func `joining twice is harmless`() throws {
        let loop = try EventLoop(name: "test")
        loop.stop()
        loop.stop()
        loop.join()
        loop.join()
    }

    @Test func `a loop that has ended takes no actions`() throws {
        let loop = try EventLoop(name: "test")
        loop.stop()
        loop.join()
        #expect(!loop.submit {})
    }

    @Test func `a task that returns to a loop that has ended can finish`() async throws {
        let loop = try EventLoop(name: "test")
        let resident = Resident(on: loop)
        loop.stop()
        loop.join()
        #expect(await resident.isAtHome)
        await withTaskGroup { group in
            for _ in 0..<20 { group.addTask { _ = await resident.increment() } }
        }
        #expect(await resident.increment() == 21)
    }
}

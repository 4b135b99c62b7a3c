import CarillonIO
import TestSupport
import Testing

/// Watches descriptors on its loop.
private actor Watcher {
    private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private var tokens: [CInt: WatchToken] = [:]
    private var calls: [CInt: Int] = [:]

    init(on loop: EventLoop) {
        self.loop = loop
    }

    func watch(_ descriptor: CInt, for interest: Interest, reading count: Int) throws -> Void {
        tokens[descriptor] = try loop.watch(descriptor, for: interest) { _ in
            self.calls[descriptor, default: 0] += 1
            if self.calls[descriptor] == count { self.cancel(descriptor) }
        }
    }

    /// Both are ready at once; whichever is called first cancels the other.
    func watchRivals(_ rivals: [CInt]) throws {
        for descriptor in rivals {
            tokens[descriptor] = try loop.watch(descriptor, for: .read) { _ in
                self.calls[descriptor, default: 0] += 1
                for rival in rivals { self.cancel(rival) }
            }
        }
    }

    func update(_ descriptor: CInt, to interest: Interest) {
        if let token = tokens[descriptor] { loop.update(token, to: interest) }
    }

    func cancel(_ descriptor: CInt) {
        if let token = tokens.removeValue(forKey: descriptor) { loop.cancel(token) }
    }

    func calls(of descriptor: CInt, atLeast count: Int) async throws -> Int {
        try await loop.eventually("\(count) calls") { calls[descriptor, default: 0] >= count }
        return calls[descriptor, default: 0]
    }

    /// The calls up to now: whatever was ready before has been reported when something else is.
    func settledCalls() async throws -> [CInt: Int] {
        // Twice, since of what is ready in one round the other may come first.
        for _ in 1...2 {
            let pair = try SocketPair()
            _ = try await loop.readiness(
                of: pair.first.descriptor,
                for: .write,
                until: .now + .seconds(60),
                doing: "a round of the loop"
            )
            _ = consume pair
        }
        return calls
    }
}

@Suite struct WatchTests {
    @Test func `a handler is called for as long as there is something to read`() async throws {
        try await TestLoop.with { loop in
            let pair = try SocketPair()
            let left = pair.first.descriptor
            let watcher = Watcher(on: loop)
            try await watcher.watch(left, for: .read, reading: 5)
            _ = try pair.second.write(([1] as [UInt8]).span.bytes)
            #expect(try await watcher.calls(of: left, atLeast: 5) == 5)
            #expect(try await watcher.settledCalls() == [left: 5])
        }
    }

    @Test func `a watch that another handler cancelled in the same round is not called`() async throws {
        try await TestLoop.with { loop in
            let one = try SocketPair()
            let other = try SocketPair()
            _ = try one.second.write(([1] as [UInt8]).span.bytes)
            _ = try other.second.write(([1] as [UInt8]).span.bytes)
            let watcher = Watcher(on: loop)
            try await watcher.watchRivals([one.first.descriptor, other.first.descriptor])
            #expect(try await watcher.settledCalls().values.reduce(0, +) == 1)
        }
    }

    @Test func `an event that is not watched for is reported only once it is`() async throws {
        try await TestLoop.with { loop in
            let pair = try SocketPair()
            let left = pair.first.descriptor
            let watcher = Watcher(on: loop)
            try await watcher.watch(left, for: .read, reading: 1)
            #expect(try await watcher.settledCalls() == [:])
            await watcher.update(left, to: [.read, .write])
            #expect(try await watcher.calls(of: left, atLeast: 1) == 1)
            _ = consume pair
        }
    }

    @Test func `a descriptor that cannot be watched is an error`() async throws {
        try await TestLoop.with { loop in
            let watcher = Watcher(on: loop)
            await #expect(throws: IOError.self) { try await watcher.watch(-1, for: .read, reading: 1) }
        }
    }
}

import CarillonIO
import Glibc
import TestSupport
import Testing

/// A process has one set of signal handlers, so these take turns.
@Suite(.serialized) struct SignalWatchTests {
    @Test func `signals come one after the other instead of ending the process`() async throws {
        try await TestLoop.with { loop in
            let watch = try SignalWatch([.user1, .user2], on: loop)
            var signals = watch.signals.makeAsyncIterator()
            kill(getpid(), SIGUSR1)
            #expect(await signals.next() == .user1)
            kill(getpid(), SIGUSR2)
            #expect(await signals.next() == .user2)
            watch.close()
            #expect(await signals.next() == nil)
        }
    }

    @Test func `there is one watch of signals at a time`() async throws {
        try await TestLoop.with { loop in
            let watch = try SignalWatch([.user1], on: loop)
            #expect(throws: IOError.self) { _ = try SignalWatch([.user1], on: loop) }
            watch.close()
            let next = try SignalWatch([.user1], on: loop)
            next.close()
        }
    }

    @Test func `a signal has a name`() {
        #expect([Signal.terminate, .interrupt, .hangUp].map(\.description) == ["SIGTERM", "SIGINT", "SIGHUP"])
    }

    @Test func `an ignored signal is recognized`() {
        let unused = Signal(rawValue: SIGWINCH)
        #expect(!unused.isIgnored)
        let before = Glibc.signal(SIGWINCH, SIG_IGN)
        #expect(unused.isIgnored)
        Glibc.signal(SIGWINCH, before)
        #expect(!unused.isIgnored)
    }
}

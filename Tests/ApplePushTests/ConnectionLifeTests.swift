import IO
import Testing

@testable import ApplePush

@Suite struct ConnectionLifeTests {
    private static let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    private let start = Self.start

    private func life(isReady: Bool = true) -> ConnectionLife {
        let limits = ConnectionLife.Limits(settings: .seconds(5), pingAfter: .seconds(15), ping: .seconds(5))
        var life = ConnectionLife(limits, at: Self.start)
        life.connected(at: Self.start)
        if isReady { life.settled() }
        return life
    }

    @Test func `a connection takes pushes only after the server has named its settings`() {
        var life = self.life(isReady: false)
        #expect(life.phase == .handshaking)
        #expect(!life.isReady)
        life.settled()
        #expect(life.isReady)
    }

    @Test func `a server that does not name its settings in time is left`() {
        var life = self.life(isReady: false)
        #expect(life.passed(to: self.start + .seconds(4), inFlight: 0) == .none)
        #expect(life.passed(to: self.start + .seconds(5), inFlight: 0) == .close)
        #expect(life.phase == .closed(.settingsTimedOut))
    }

    @Test func `the first reason for an end is the one that stays`() {
        var life = self.life()
        life.retire(.goneAway(reason: "Shutdown"))
        life.retire(.usedUp)
        #expect(life.phase == .draining(.goneAway(reason: "Shutdown")))
        life.close(.closedByPeer)
        #expect(life.phase == .closed(.goneAway(reason: "Shutdown")))
        life.close(.silent)
        life.settled()
        life.connected(at: self.start)
        #expect(life.phase == .closed(.goneAway(reason: "Shutdown")))
    }

    @Test func `a connection that takes no more pushes closes after the last of them`() {
        var life = self.life()
        life.retire(.usedUp)
        #expect(life.passed(to: self.start + .seconds(1), inFlight: 1) == .none)
        #expect(life.passed(to: self.start + .seconds(1), inFlight: 0) == .close)
    }

    @Test func `after a silence a server with pushes in flight is asked whether it is there`() {
        var life = self.life()
        #expect(life.passed(to: self.start + .seconds(14), inFlight: 1) == .none)
        #expect(life.passed(to: self.start + .seconds(20), inFlight: 0) == .none)
        #expect(life.passed(to: self.start + .seconds(20), inFlight: 1) == .ping)
        #expect(life.passed(to: self.start + .seconds(24), inFlight: 1) == .none)
        #expect(life.passed(to: self.start + .seconds(25), inFlight: 1) == .close)
        #expect(life.phase == .closed(.silent))
    }

    @Test func `any sign of life is an answer to that`() {
        var life = self.life()
        #expect(life.willSend(at: self.start + .seconds(15)) == .ping)
        #expect(life.willSend(at: self.start + .seconds(16)) == .none)
        life.heard(at: self.start + .seconds(17))
        #expect(life.passed(to: self.start + .seconds(30), inFlight: 1) == .none)
        #expect(life.willSend(at: self.start + .seconds(32)) == .ping)
    }

    @Test func `answers about the credential or the connection make it of no use`() {
        var life = self.life()
        life.wasAnswered(isOfUse: false)
        life.retire(.refused("InvalidProviderToken"))
        #expect(life.answered == 0)
        #expect(life.isRefused)
        life.close(.closedByPeer)
        #expect(life.phase == .closed(.refused("InvalidProviderToken")))
    }

    @Test func `several late answers in a row retire a connection, and an answer between them does not`() {
        var life = self.life()
        for _ in 0..<5 {
            life.wasLate()
            life.wasLate()
            life.wasAnswered(isOfUse: true)
        }
        #expect(life.isReady)
        #expect(life.answered == 5)
        for _ in 0..<3 { life.wasLate() }
        #expect(life.phase == .draining(.silent))
    }
}

import IO
import Testing

@testable import ApplePush

@Suite struct ConnectionLifeTests {
    private static let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    private let start = Self.start

    private func life(isReady: Bool = true) -> ConnectionLife {
        let limits = ConnectionLife.Limits(
            settings: .seconds(5),
            acknowledgement: .seconds(10),
            pingAfter: .seconds(15),
            ping: .seconds(5),
            writing: .seconds(10),
            starvation: .seconds(10),
            age: .seconds(3600)
        )
        var life = ConnectionLife(limits, at: Self.start)
        life.connected(at: Self.start)
        if isReady {
            life.settled()
            life.acknowledged()
        }
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
        #expect(life.passed(to: start + .seconds(4), inFlight: 0) == .none)
        #expect(life.passed(to: start + .seconds(5), inFlight: 0) == .close)
        #expect(life.phase == .closed(.settingsMissing))
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
        life.connected(at: start)
        #expect(life.phase == .closed(.goneAway(reason: "Shutdown")))
    }

    @Test func `a connection that takes no more pushes closes after the last of them`() {
        var life = self.life()
        life.retire(.usedUp)
        #expect(life.passed(to: start + .seconds(1), inFlight: 1) == .none)
        #expect(life.passed(to: start + .seconds(1), inFlight: 0) == .close)
    }

    @Test func `after a silence a server with pushes in flight is asked whether it is there`() {
        var life = self.life()
        #expect(life.passed(to: start + .seconds(14), inFlight: 1) == .none)
        #expect(life.passed(to: start + .seconds(20), inFlight: 0) == .none)
        #expect(life.passed(to: start + .seconds(20), inFlight: 1) == .ping)
        #expect(life.passed(to: start + .seconds(24), inFlight: 1) == .none)
        #expect(life.passed(to: start + .seconds(25), inFlight: 1) == .close)
        #expect(life.phase == .closed(.silent))
    }

    @Test func `any sign of life is an answer to that`() {
        var life = self.life()
        #expect(life.willSend(at: start + .seconds(15)) == .ping)
        #expect(life.willSend(at: start + .seconds(16)) == .none)
        life.heard(at: start + .seconds(17))
        #expect(life.passed(to: start + .seconds(30), inFlight: 1) == .none)
        #expect(life.willSend(at: start + .seconds(32)) == .ping)
    }

    @Test func `answers about the credential or the connection make it of no use`() {
        var life = self.life()
        life.wasAnswered(isOfUse: false)
        life.retire(.refused("InvalidProviderToken"))
        #expect(life.answered == 0)
        #expect(life.end?.isRefusal == true)
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

    @Test func `a server that does not acknowledge our settings is left, and may still answer`() {
        var life = self.life(isReady: false)
        life.settled()
        #expect(life.due(inFlight: 0) == start + .seconds(10))
        #expect(life.passed(to: start + .seconds(9), inFlight: 1) == .none)
        #expect(life.passed(to: start + .seconds(10), inFlight: 1) == .none)
        #expect(life.phase == .draining(.settingsUnacknowledged))
        #expect(life.passed(to: start + .seconds(11), inFlight: 0) == .close)
    }

    @Test func `a server that takes no bytes for long enough is left, and any byte is enough`() {
        var life = self.life()
        life.wrote(isStalled: true, at: start)
        life.wrote(isStalled: true, at: start + .seconds(5))
        #expect(life.due(inFlight: 0) == start + .seconds(10))
        life.wrote(isStalled: false, at: start + .seconds(9))
        life.wrote(isStalled: true, at: start + .seconds(9))
        #expect(life.passed(to: start + .seconds(18), inFlight: 0) == .none)
        #expect(life.passed(to: start + .seconds(19), inFlight: 0) == .close)
        #expect(life.phase == .closed(.stalled))
    }

    @Test func `a server that has no stream for anybody is left after a while`() {
        var life = self.life()
        life.offered(nothing: true, at: start)
        life.offered(nothing: true, at: start + .seconds(9))
        life.offered(nothing: false, at: start + .seconds(9))
        life.offered(nothing: true, at: start + .seconds(9))
        #expect(life.due(inFlight: 0) == start + .seconds(19))
        #expect(life.passed(to: start + .seconds(18), inFlight: 0) == .none)
        #expect(life.passed(to: start + .seconds(19), inFlight: 0) == .close)
        #expect(life.phase == .draining(.starved))
    }

    @Test func `a server that opens no window is left when not one byte has passed for a while`() {
        var life = self.life()
        life.held(back: true, after: 100, at: start)
        life.held(back: true, after: 101, at: start + .seconds(9))
        #expect(life.due(inFlight: 1) == start + .seconds(15))
        #expect(life.passed(to: start + .seconds(10), inFlight: 0) == .none)
        life.held(back: false, after: 101, at: start + .seconds(11))
        life.held(back: true, after: 101, at: start + .seconds(12))
        #expect(life.passed(to: start + .seconds(21), inFlight: 0) == .none)
        #expect(life.passed(to: start + .seconds(22), inFlight: 0) == .close)
        #expect(life.phase == .draining(.windowClosed))
    }

    @Test func `a connection gets old, and goes on until it is told to go`() {
        var life = self.life()
        #expect(life.due(inFlight: 0) == start + .seconds(3600))
        #expect(life.passed(to: start + .seconds(3599), inFlight: 0) == .none)
        #expect(!life.isOld)
        #expect(life.passed(to: start + .seconds(3600), inFlight: 0) == .none)
        #expect(life.isOld && life.isReady)
        #expect(life.due(inFlight: 0) == .distantFuture)
    }

    @Test func `stream numbers are not used to their end`() {
        var life = self.life()
        life.opened((1 << 30) - 1)
        #expect(life.isReady)
        life.opened((1 << 30) + 1)
        #expect(life.phase == .draining(.exhausted))
    }

    @Test func `whatever is due is told in time`() {
        var life = self.life(isReady: false)
        #expect(life.due(inFlight: 0) == start + .seconds(5))
        life.settled()
        life.acknowledged()
        #expect(life.due(inFlight: 1) == start + .seconds(15))
        _ = life.willSend(at: start + .seconds(20))
        #expect(life.isInDoubt)
        #expect(life.due(inFlight: 1) == start + .seconds(25))
        life.heard(at: start + .seconds(21))
        #expect(!life.isInDoubt)
        life.close(.idle)
        #expect(life.due(inFlight: 1) == .distantFuture)
    }

    @Test func `every end has a name of its own`() {
        let ends: [ConnectionEnd] = [
            .idle, .spare, .aged, .exhausted, .shutDown, .goneAway(reason: nil), .usedUp, .refused(""), .closedByPeer,
            .unconnected(PushError(.unreachable, "")), .broken(""), .violated(""), .flooded(""), .settingsMissing,
            .settingsUnacknowledged, .silent, .stalled, .starved, .windowClosed,
        ]
        #expect(Set(ends.map(\.name)).count == ends.count)
        #expect(ConnectionEnd.broken("a") != .broken("b"))
    }
}

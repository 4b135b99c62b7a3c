import CarillonIO
import Testing

@testable import ApplePush

@Suite struct ConnectionLifeTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    private func readyLife() -> ConnectionLife {
        var life = ConnectionLife(writeTimeout: .seconds(10), maximumAge: .seconds(3600))
        life.connected(at: start)
        #expect(life.phase == .opening && !life.isReady)
        life.opened()
        return life
    }

    @Test func `the first reason for an end stays`() {
        var life = readyLife()
        life.retire(.goneAway(reason: "Shutdown"))
        life.retire(.usedUp)
        #expect(life.phase == .draining(.goneAway(reason: "Shutdown")))
        life.close(.closedByPeer)
        #expect(life.phase == .closed(.goneAway(reason: "Shutdown")))
        life.close(.silent)
        life.opened()
        life.connected(at: start)
        #expect(life.phase == .closed(.goneAway(reason: "Shutdown")))
    }

    @Test func `answers about the credential or the connection do not count`() {
        var life = readyLife()
        life.wasAnswered(isOfUse: false)
        life.retire(.refused("InvalidProviderToken"))
        #expect(life.answered == 0)
        #expect(life.end?.kind == .refused)
        life.close(.closedByPeer)
        #expect(life.phase == .closed(.refused("InvalidProviderToken")))
    }

    @Test func `several late answers in a row retire a connection, and an answer between them does not`() {
        var life = readyLife()
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

    @Test func `a connection whose peer accepts no bytes for too long is closed, and any byte is enough`() {
        var life = readyLife()
        life.wrote(isStalled: true, at: start)
        life.wrote(isStalled: true, at: start + .seconds(5))
        #expect(life.due == start + .seconds(10))
        life.wrote(isStalled: false, at: start + .seconds(9))
        life.wrote(isStalled: true, at: start + .seconds(9))
        life.passed(to: start + .seconds(18))
        #expect(life.isReady)
        life.passed(to: start + .seconds(19))
        #expect(life.phase == .closed(.stalled))
        #expect(life.due == .distantFuture)
    }

    @Test func `an old connection stays ready until it is retired`() {
        var life = readyLife()
        #expect(life.due == start + .seconds(3600))
        life.passed(to: start + .seconds(3599))
        #expect(!life.isOld)
        life.passed(to: start + .seconds(3600))
        #expect(life.isOld && life.isReady)
        #expect(life.due == .distantFuture)
    }

    @Test func `every end has a name of its own`() {
        let ends: [ConnectionEnd] = [
            .idle, .spare, .aged, .replaced, .exhausted, .shutDown, .goneAway(reason: nil), .usedUp, .refused(""),
            .closedByPeer, .unconnected(PushError(.unreachable, "")), .broken(""), .violated(""), .flooded(""),
            .settingsMissing, .settingsUnacknowledged, .silent, .stalled, .starved, .windowClosed,
        ]
        #expect(Set(ends.map(\.name)).count == ends.count)
        #expect(ConnectionEnd.broken("a") != .broken("b"))
    }
}

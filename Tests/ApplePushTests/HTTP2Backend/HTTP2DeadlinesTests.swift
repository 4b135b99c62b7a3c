import CarillonIO
import Testing

@testable import ApplePush

@Suite struct HTTP2DeadlinesTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    /// A connection and its deadlines.
    private struct Connection {
        var life = ConnectionLife(writeTimeout: .seconds(10), maximumAge: .seconds(100_000))
        var deadlines: HTTP2Deadlines

        init(at now: MonotonicInstant, isReady: Bool = true) {
            var configuration = HTTP2Configuration()
            configuration.settingsTimeout = .seconds(5)
            configuration.acknowledgementTimeout = .seconds(10)
            configuration.pingAfter = .seconds(15)
            configuration.pingTimeout = .seconds(5)
            configuration.starvationTimeout = .seconds(10)
            deadlines = HTTP2Deadlines(configuration, at: now)
            life.connected(at: now)
            deadlines.connected(at: now)
            if isReady {
                settle()
                deadlines.acknowledged()
            }
        }

        mutating func settle() {
            deadlines.settled()
            life.opened()
        }

        /// True if a ping is to be sent.
        mutating func passes(to now: MonotonicInstant, inFlight: Int) -> Bool {
            deadlines.passed(to: now, &life, inFlight: inFlight)
        }

        func due(inFlight: Int) -> MonotonicInstant { deadlines.due(life, inFlight: inFlight) }
    }

    @Test func `a connection takes pushes only after the server has sent its settings`() {
        var connection = Connection(at: start, isReady: false)
        #expect(connection.life.phase == .opening)
        connection.settle()
        #expect(connection.life.isReady)
    }

    @Test func `a server that does not send its settings in time is disconnected`() {
        var connection = Connection(at: start, isReady: false)
        _ = connection.passes(to: start + .seconds(4), inFlight: 0)
        #expect(connection.life.phase == .opening)
        _ = connection.passes(to: start + .seconds(5), inFlight: 0)
        #expect(connection.life.phase == .closed(.settingsMissing))
    }

    @Test func `a silent server with pushes in flight gets a ping, and is disconnected if it does not answer`() {
        var connection = Connection(at: start)
        let pings = [(14, 1), (20, 0), (20, 1), (24, 1)].map {
            connection.passes(to: start + .seconds($0.0), inFlight: $0.1)
        }
        #expect(pings == [false, false, true, false])
        #expect(connection.life.isReady)
        let ping = connection.passes(to: start + .seconds(25), inFlight: 1)
        #expect(!ping)
        #expect(connection.life.phase == .closed(.silent))
    }

    /// Apple allows one after an hour without traffic. Idle connections are closed before.
    @Test func `an idle connection gets no ping`() {
        var connection = Connection(at: start)
        for hours in 1...5 {
            let ping = connection.passes(to: start + .seconds(3_600 * hours), inFlight: 0)
            #expect(!ping)
        }
        #expect(connection.life.isReady && connection.due(inFlight: 0) > start + .seconds(18_000))
        // The first push after the silence brings one.
        let ping = connection.deadlines.willSend(at: start + .seconds(18_001))
        #expect(ping)
    }

    @Test func `any bytes answer a ping`() {
        var connection = Connection(at: start)
        var pings = [15, 16].map { connection.deadlines.willSend(at: start + .seconds($0)) }
        #expect(pings == [true, false])
        connection.deadlines.heard(at: start + .seconds(17))
        pings = [connection.passes(to: start + .seconds(30), inFlight: 1)]
        pings.append(connection.deadlines.willSend(at: start + .seconds(32)))
        #expect(pings == [false, true])
    }

    @Test func `a server that does not acknowledge our settings gets no more pushes, and may still answer`() {
        var connection = Connection(at: start, isReady: false)
        connection.settle()
        #expect(connection.due(inFlight: 0) == start + .seconds(10))
        _ = connection.passes(to: start + .seconds(9), inFlight: 1)
        #expect(connection.life.isReady)
        _ = connection.passes(to: start + .seconds(10), inFlight: 1)
        #expect(connection.life.phase == .draining(.settingsUnacknowledged))
    }

    @Test func `a server that allows no streams for too long gets no more pushes`() {
        var connection = Connection(at: start)
        connection.deadlines.offered(0, at: start)
        connection.deadlines.offered(0, at: start + .seconds(9))
        connection.deadlines.offered(1, at: start + .seconds(9))
        connection.deadlines.offered(0, at: start + .seconds(9))
        #expect(connection.due(inFlight: 0) == start + .seconds(19))
        _ = connection.passes(to: start + .seconds(18), inFlight: 0)
        #expect(connection.life.isReady)
        _ = connection.passes(to: start + .seconds(19), inFlight: 0)
        #expect(connection.life.phase == .draining(.starved))
    }

    @Test func `a server that opens no window gets no more pushes when not one byte was sent for too long`() {
        var connection = Connection(at: start)
        connection.deadlines.held(back: true, after: 100, at: start)
        connection.deadlines.held(back: true, after: 101, at: start + .seconds(9))
        #expect(connection.due(inFlight: 1) == start + .seconds(15))
        _ = connection.passes(to: start + .seconds(10), inFlight: 0)
        #expect(connection.life.isReady)
        connection.deadlines.held(back: false, after: 101, at: start + .seconds(11))
        connection.deadlines.held(back: true, after: 101, at: start + .seconds(12))
        _ = connection.passes(to: start + .seconds(21), inFlight: 0)
        #expect(connection.life.isReady)
        _ = connection.passes(to: start + .seconds(22), inFlight: 0)
        #expect(connection.life.phase == .draining(.windowClosed))
    }

    @Test func `the next time limit is known`() {
        var connection = Connection(at: start, isReady: false)
        #expect(connection.due(inFlight: 0) == start + .seconds(5))
        connection.settle()
        connection.deadlines.acknowledged()
        #expect(connection.due(inFlight: 1) == start + .seconds(15))
        _ = connection.deadlines.willSend(at: start + .seconds(20))
        #expect(connection.deadlines.isInDoubt)
        #expect(connection.due(inFlight: 1) == start + .seconds(25))
        connection.deadlines.heard(at: start + .seconds(21))
        #expect(!connection.deadlines.isInDoubt)
        connection.life.close(.idle)
        #expect(connection.due(inFlight: 1) == .distantFuture)
    }
}

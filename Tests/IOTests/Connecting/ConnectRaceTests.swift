import Glibc
import Testing

@testable import CarillonIO

@Suite struct ConnectRaceTests {
    private static func addresses(_ hosts: [String]) throws -> [SocketAddress] {
        try hosts.map { try Resolver.lookUpNow($0, port: 443)[0] }
    }

    private let start = MonotonicInstant(nanoseconds: 1_000_000_000)

    @Test func `address families take turns, beginning with the resolver's first`() throws {
        let race = ConnectRace(try Self.addresses(["::1", "::2", "::3", "127.0.0.1", "127.0.0.2"]), at: start)
        #expect(race.addresses.map(\.host) == ["::1", "127.0.0.1", "::2", "127.0.0.2", "::3"])
    }

    @Test func `an attempt has a head start before the next one begins`() throws {
        var race = ConnectRace(try Self.addresses(["127.0.0.1", "127.0.0.2"]), at: start)
        #expect(race.decide(at: start) == .start(0))
        let second = start + ConnectRace.headStart
        #expect(race.decide(at: start + .milliseconds(1)) == .wait(until: second))
        #expect(race.decide(at: second) == .start(1))
        #expect(race.decide(at: second) == .wait(until: nil))
    }

    @Test func `after a failed attempt the next one begins at once`() throws {
        var race = ConnectRace(try Self.addresses(["127.0.0.1", "127.0.0.2"]), at: start)
        #expect(race.decide(at: start) == .start(0))
        race.failed(0, errno: ECONNREFUSED, at: start + .milliseconds(2))
        #expect(race.decide(at: start + .milliseconds(2)) == .start(1))
        race.failed(1, errno: ENETUNREACH, at: start + .milliseconds(3))
        #expect(race.decide(at: start + .milliseconds(3)) == .giveUp)
        #expect(race.failures.map(\.errno) == [ECONNREFUSED, ENETUNREACH])
    }

    @Test func `the race is not given up while an attempt is running`() throws {
        var race = ConnectRace(try Self.addresses(["127.0.0.1", "127.0.0.2"]), at: start)
        let second = start + ConnectRace.headStart
        #expect(race.decide(at: start) == .start(0))
        #expect(race.decide(at: second) == .start(1))
        race.failed(1, errno: ECONNREFUSED, at: second)
        #expect(race.decide(at: second) == .wait(until: nil))
        race.failed(0, errno: ETIMEDOUT, at: second)
        #expect(race.decide(at: second) == .giveUp)
    }

    @Test func `without addresses there is nothing to try`() {
        var race = ConnectRace([], at: start)
        #expect(race.decide(at: start) == .giveUp)
    }
}

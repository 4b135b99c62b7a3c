import CarillonHTTP2
import CarillonIO
import Glibc
import TestSupport
import Testing

@testable import ApplePushSimulator

/// A simulator that seems far away, over real sockets.
@Suite struct DistanceTests {
    private func withSimulator(
        _ change: (inout SimulatorConfiguration) throws -> Void,
        _ body: (APNsSimulator, SimulatorClient) async throws -> Void
    ) async throws {
        try await TestSimulator.with {
            $0.distance = .milliseconds(100)
            $0.recordsRequests = true
            try change(&$0)
        } _: { simulator, _, loop in
            try await body(simulator, SimulatorClient.certified(by: simulator, on: loop))
        }
    }

    @Test func `an answer takes a round trip, and a hundred take no longer`() async throws {
        try await withSimulator { _ in
        } _: { _, client in
            var start = MonotonicInstant.now
            #expect(try await client.send(SampleRequest.many(1)).map(\.status) == [200])
            #expect(MonotonicInstant.now - start >= .milliseconds(100))
            start = .now
            let answers = try await client.send(SampleRequest.many(200))
            #expect(answers.allSatisfy { $0.status == 200 })
            let time = MonotonicInstant.now - start
            #expect(time >= .milliseconds(100) && time < .seconds(10), "\(time)")
        }
    }

    /// The bytes of a client arrive although the thread that accepts it is blocked until then.
    @Test func `the delay does not grow while the simulator is busy`() async throws {
        let distance = try #require(try Distance(.milliseconds(20), window: 65_535))
        defer { distance.stop() }
        try await TestLoop.with { simulator in
            let (client, served) = try LoopbackPair().release()
            defer { close(client) }
            let arrived = await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
                distance.move(Socket(owning: served), on: simulator) { near in
                    defer { close(near) }
                    let isWritten = write(client, "push", 4) == 4
                    var waiting = pollfd(fd: near, events: Int16(POLLIN), revents: 0)
                    continuation.resume(returning: isWritten && poll(&waiting, 1, 60_000) == 1)
                }
            }
            #expect(arrived)
        }
    }

    /// A side that does not read cannot fill the memory.
    @Test func `a link reads a limited amount ahead of a slow receiver, and loses nothing`() async throws {
        let distance = try #require(try Distance(.milliseconds(20), window: 65_535))
        defer { distance.stop() }
        let limit = 64 << 20
        try await TestLoop.with { simulator in
            let (client, served) = try LoopbackPair().release()
            defer { close(client) }
            let near = await withCheckedContinuation { (continuation: CheckedContinuation<CInt, Never>) in
                distance.move(Socket(owning: served), on: simulator) { continuation.resume(returning: $0) }
            }
            defer { close(near) }
            let pattern = (0..<65_536 + 251).map { UInt8($0 % 251) }
            var sent = 0
            var waiting = pollfd(fd: client, events: Int16(POLLOUT), revents: 0)
            // It counts as full once it has taken nothing for many round trips.
            while sent < limit, poll(&waiting, 1, 300) == 1 {
                let count = pattern.withUnsafeBytes { write(client, $0.baseAddress! + sent % 251, 65_536) }
                guard count > 0 else { break }
                sent += count
            }
            #expect(sent < limit / 2, "\(sent)")
            var taken = 0
            var isSame = true
            var room = [UInt8](repeating: 0, count: 65_536)
            waiting = pollfd(fd: near, events: Int16(POLLIN), revents: 0)
            while taken < sent, poll(&waiting, 1, 60_000) == 1 {
                let count = read(near, &room, room.count)
                guard count > 0 else { break }
                isSame = isSame && pattern.withUnsafeBytes { memcmp($0.baseAddress! + taken % 251, room, count) } == 0
                taken += count
            }
            #expect(taken == sent && isSame)
        }
    }

    @Test func `a client that writes to a closed connection gets a reset`() async throws {
        let distance = try #require(try Distance(.milliseconds(20), window: 65_535))
        defer { distance.stop() }
        let limit = 512 << 20
        try await TestLoop.with { simulator in
            let (client, served) = try LoopbackPair().release()
            defer { close(client) }
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                distance.move(Socket(owning: served), on: simulator) { near in
                    close(near)
                    continuation.resume()
                }
            }
            let chunk = [UInt8](repeating: 1, count: 65_536)
            var sent = 0
            var isTold = false
            var waiting = pollfd(fd: client, events: Int16(POLLOUT), revents: 0)
            while !isTold, sent < limit, poll(&waiting, 1, 60_000) == 1 {
                let count = Glibc.send(client, chunk, chunk.count, CInt(MSG_NOSIGNAL))
                isTold = count < 0 && errno != EAGAIN
                sent += max(0, count)
            }
            #expect(isTold, "\(sent)")
        }
    }

    @Test func `a window is used once a round trip`() async throws {
        let payload = Array((#"{"aps":{},"x":""# + String(repeating: "x", count: 4_000) + #""}"#).utf8)
        try await withSimulator { _ in
        } _: { _, client in
            var requests = SampleRequest.many(64)
            for index in requests.indices { requests[index].payload = payload }
            let start = MonotonicInstant.now
            let answers = try await client.send(requests)
            #expect(answers.allSatisfy { $0.status == 200 })
            // 257 KB through a window of 64 KB: the fourth window opens after three round trips.
            #expect(MonotonicInstant.now - start >= .milliseconds(350))
        }
    }

    @Test func `a reset arrives as a reset`() async throws {
        try await withSimulator {
            $0.resetAfter = 5
        } _: { simulator, client in
            let answers = try await client.send(SampleRequest.many(5))
            #expect(answers.count == 5 && answers.last?.ending != nil)
            #expect(await client.isClosed)
            #expect(await simulator.receivedRequests().count == 5)
        }
    }

    @Test func `GOAWAY arrives, and then the end of the connection`() async throws {
        try await withSimulator {
            $0.goAwayAfter = 5
        } _: { _, client in
            let answers = try await client.send(SampleRequest.many(5))
            #expect(answers.allSatisfy { $0.status == 200 })
            #expect(await client.goAway != nil)
        }
    }

    @Test func `nothing is left of connections that their clients have closed`() async throws {
        try await TestSimulator.with {
            $0.distance = .milliseconds(20)
        } _: { simulator, _, loop in
            for _ in 0..<5 {
                let client = try await SimulatorClient.certified(by: simulator, on: loop)
                #expect(try await client.send(SampleRequest.many(1)).map(\.status) == [200])
            }
            try await loop.eventually("all connections are closed") {
                await simulator.statistics().openConnections == 0
            }
        }
    }
}

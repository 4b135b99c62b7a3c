import Glibc
import TestSupport
import Testing

@testable import CarillonIO

@Suite struct TCPTests {
    @Test func `a connection carries bytes both ways`() async throws {
        try await TestLoop.with { loop in
            let (stream, continuation) = AsyncStream.makeStream(of: CInt.self)
            let listener = try Listener(host: "127.0.0.1", port: 0, on: loop) { continuation.yield($0.release()) }
            defer { listener.close() }
            let client = try await TCP.connect(host: "localhost", port: listener.port, timeout: .seconds(10), on: loop)
            var arrivals = stream.makeAsyncIterator()
            let server = try Socket(owning: #require(await arrivals.next()))
            #expect(try client.write(([1, 2, 3] as [UInt8]).span.bytes) == .bytes(3))
            let deadline = MonotonicInstant.now + .seconds(10)
            _ = try await loop.readiness(of: server.descriptor, for: .read, until: deadline, doing: "reading")
            var bytes = [UInt8](repeating: 0, count: 16)
            #expect(try server.read(into: &bytes) == .bytes(3))
            #expect(bytes.prefix(3) == [1, 2, 3])
            #expect(try server.read(into: &bytes) == .wantsRead)
            client.closeWriting()
            _ = try await loop.readiness(of: server.descriptor, for: .read, until: deadline, doing: "reading")
            #expect(try server.read(into: &bytes) == .closed)
        }
    }

    @Test(arguments: ["127.0.0.1", "localhost", "::1", "[::1]"])
    func `a refused port is reported at once, with where and what to do`(host: String) async throws {
        try await TestLoop.with { loop in
            let port = ReservedPort.choose()
            let error = await #expect(throws: IOError.self) {
                _ = try await TCP.connect(host: host, port: port, timeout: .seconds(60), on: loop)
            }
            #expect(error?.code == .refused)
            let place = host == "::1" ? "[::1]:\(port)" : "\(host):\(port)"
            #expect(error?.message.hasPrefix("nothing accepts connections at \(place) (") == true)
            #expect(error?.message.hasSuffix("check the host, the port and that the server runs") == true)
        }
    }

    @Test(arguments: [String(repeating: "a", count: 70) + ".invalid", "", "no such.host"])
    func `a name without an address has a code of its own`(host: String) async throws {
        try await TestLoop.with { loop in
            let error = await #expect(throws: IOError.self) {
                _ = try await TCP.connect(host: host, port: 443, timeout: .seconds(60), on: loop)
            }
            #expect(error?.code == .unresolvable)
        }
    }

    @Test func `connecting to a silent server times out`() async throws {
        try await TestLoop.with { loop in
            let port = try SilentPort(host: "127.0.0.1")
            let number = port.port
            let error = await #expect(throws: IOError.self) {
                _ = try await TCP.connect(host: "127.0.0.1", port: number, timeout: .milliseconds(20), on: loop)
            }
            #expect(error?.code == .timedOut)
            #expect(error?.message.contains("no answer from 127.0.0.1") == true)
        }
    }

    @Test func `connecting ends when its task is cancelled`() async throws {
        try await TestLoop.with { loop in
            let port = try SilentPort(host: "127.0.0.1")
            let number = port.port
            let task = Task {
                _ = try await TCP.connect(host: "127.0.0.1", port: number, timeout: .seconds(3600), on: loop)
            }
            task.cancel()
            let error = await #expect(throws: IOError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            _ = consume port
        }
    }

    @Test func `connecting ends when the loop stops`() async throws {
        let loop = try EventLoop(name: "test")
        let port = try SilentPort(host: "127.0.0.1")
        let connector = TCPConnector(host: "127.0.0.1", port: port.port, timeout: .seconds(3600), on: loop) { $0 }
        async let result = connector.connect()
        loop.stop()
        loop.join()
        let answer = await result
        let error = #expect(throws: IOError.self) { try answer.get() }
        #expect(error?.code == .cancelled)
        _ = consume port
    }

    @Test func `when the first address refuses, the second is tried`() async throws {
        try await TestLoop.with { loop in
            let listener = try Listener(host: "127.0.0.1", port: 0, on: loop) { _ in }
            defer { listener.close() }
            let addresses = try ["::1", "127.0.0.1"].flatMap { try Resolver.lookUpNow($0, port: listener.port) }
            let connector = TCPConnector(host: "127.0.0.1", port: listener.port, timeout: .seconds(60), on: loop) { _ in
                addresses
            }
            let socket = try Socket(owning: await connector.connect().get())
            #expect(try SocketAddress(connectedTo: socket.descriptor).host == "127.0.0.1")
        }
    }

    @Test func `when the first address is silent, the second wins after the head start`() async throws {
        try await TestLoop.with { loop in
            let silent = try SilentPort(host: "::1")
            let listener = try Listener(host: "127.0.0.1", port: 0, on: loop) { _ in }
            defer { listener.close() }
            let addresses = try [silent.address] + Resolver.lookUpNow("127.0.0.1", port: listener.port)
            let connector = TCPConnector(host: "127.0.0.1", port: listener.port, timeout: .seconds(60), on: loop) { _ in
                addresses
            }
            let start = MonotonicInstant.now
            let socket = try Socket(owning: await connector.connect().get())
            #expect(try SocketAddress(connectedTo: socket.descriptor).host == "127.0.0.1")
            #expect(MonotonicInstant.now - start >= ConnectRace.headStart)
        }
    }

    @Test func `more look-ups than threads are all answered`() async {
        await withTaskGroup { group in
            for _ in 0..<100 {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        Resolver.lookUp("localhost", port: 1) { continuation.resume(returning: $0) }
                    }
                }
            }
            for await answer in group {
                #expect((try? answer.get())?.isEmpty == false)
            }
        }
    }
}

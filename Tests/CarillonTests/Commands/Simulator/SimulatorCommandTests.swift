import CarillonIO
import CarillonTLS
import Glibc
import TestSupport
import Testing

@testable import Carillon

@Suite struct SimulatorCommandTests {
    @Test func `a port in use is unavailable, and named`() async throws {
        try await TestLoop.with { loop in
            let listener = try Listener(host: "127.0.0.1", port: 0, on: loop, accept: { _ in })
            defer { listener.close() }
            let run = try await ProgramRun.run(["simulator", "--port", "\(listener.port)"])
            #expect(run.status == 69)
            #expect(run.errors.contains("Port \(listener.port) is in use"))
        }
    }

    @Test func `an answer that cannot be read is refused as usage`() async throws {
        let run = try await ProgramRun.run(["simulator", "--port", "0", "--answer", "nonsense"])
        #expect(run.status == 2)
        #expect(run.errors.contains("PREFIX=STATUS"))
    }

    @Test func `a request log that cannot be written stops nothing, and ends with status 1`() async throws {
        try await TemporaryFolder.with { folder in
            try await TestLoop.with { loop in
                let run = try BackgroundProgram(
                    ["simulator", "--port", "0", "--ca-out", folder.file("ca.pem"), "--log", "/dev/full"],
                    in: folder
                )
                let line = try await run.line(containing: "is listening", on: loop)
                let digits = line.split(separator: "\"port\":").last?.prefix { $0.isNumber } ?? ""
                let port = try #require(UInt16(digits))
                // Somebody who speaks no TLS is a line of the log.
                let client = try await TCP.connect(host: "127.0.0.1", port: port, timeout: .seconds(30), on: loop)
                _ = try client.write("GET / HTTP/1.1\r\n\r\n".utf8.span.bytes)
                client.closeWriting()
                _ = try await run.line(containing: "handshake has failed", on: loop)
                #expect(try await run.end(by: SIGTERM, on: loop) == .status(1))
                #expect(run.said.contains("Not all requests are in /dev/full"))
            }
        }
    }

    @Test(arguments: [
        (["--key-id", "ABCDE12345"], "are about the signing key in --file"),
        (["--file", "key.p8", "--key-id", "AB", "--team-id", "TEAM567890"], "--key-id takes ten characters"),
        (["--file", "key.p8", "--key-id", "ABCDE12345", "--team-id", "T"], "--team-id takes ten characters"),
    ])
    func `options that do not describe a key are refused`(arguments: [String], words: String) async throws {
        let run = try await ProgramRun.run(["simulator", "--port", "0"] + arguments)
        #expect(run.status == 2)
        #expect(run.errors.contains(words))
    }

    @Test func `the simulator warns of answers that Apple does not give, and logs its HTTP port`() async throws {
        try await TemporaryFolder.with { folder in
            try await TestLoop.with { loop in
                let run = try BackgroundProgram(
                    [
                        "simulator", "--port", "0", "--ca-out", folder.file("ca.pem"), "--answer", "ab=410:Foo",
                        "--http", "127.0.0.1:0",
                    ],
                    in: folder
                )
                _ = try await run.line(containing: "Foo, which Apple does not have for 410", on: loop)
                let line = try await run.line(containing: "is listening", on: loop)
                #expect(line.contains("\"http_port\":") && !line.contains("\"http_port\":0"))
                #expect(!line.contains("\"http_port\":null"))
                #expect(try await run.end(by: SIGTERM, on: loop) == .status(0))
            }
        }
    }

    @Test func `the simulator writes its root, logs its port, and exits with 0 after SIGTERM`() async throws {
        try await TemporaryFolder.with { folder in
            try await TestLoop.with { loop in
                let run = try BackgroundProgram(
                    ["simulator", "--port", "0", "--ca-out", folder.file("ca.pem")],
                    in: folder
                )
                let line = try await run.line(containing: "is listening", on: loop)
                #expect(line.hasPrefix("{\"time\":") && line.contains("\"port\":"))
                #expect(try folder.read("ca.pem").hasPrefix("-----BEGIN CERTIFICATE-----"))
                #expect(try await run.end(by: SIGTERM, on: loop) == .status(0))
            }
        }
    }

    @Test(.timeLimit(.minutes(5)), arguments: ["--ca-out", "--log"])
    func `a pipe without a reader is refused at once`(option: String) async throws {
        try await TemporaryFolder.with { folder in
            let pipe = folder.file("pipe")
            try #require(mkfifo(pipe, 0o600) == 0)
            let run = try await ProgramRun.run(["simulator", "--port", "0", option, pipe])
            #expect(run.status != 0)
            #expect(run.errors.contains("this pipe has no reader"))
        }
    }

    @Test func `a topic that cannot be one is refused`() async throws {
        let run = try await ProgramRun.run(["simulator", "--port", "0", "--allow-topic", "a/b"])
        #expect(run.status != 0)
        #expect(run.errors.contains("\"a/b\" is not a topic"))
    }

    @Test(arguments: ["--ca-out", "--log"])
    func `a file in a folder that is missing is refused before anything is made`(option: String) async throws {
        try await TemporaryFolder.with { folder in
            let state = folder.file("state")
            let run = try await ProgramRun.run(
                ["simulator", "--port", "0", "--state", state, option, folder.file("nowhere/file")]
            )
            #expect(run.status == 78)
            #expect(run.errors.contains("there is no folder \(folder.file("nowhere")); create it first."))
            #expect(access(state, F_OK) != 0)
        }
    }

    @Test func `the log goes to standard output for a dash, and a client reaches it by the name given`() async throws {
        try await TemporaryFolder.with { folder in
            try await TestLoop.with { loop in
                let root = folder.file("ca.pem")
                let run = try BackgroundProgram(
                    ["simulator", "--port", "0", "--name", "apns.test", "--ca-out", root, "--log", "-"],
                    in: folder
                )
                let line = try await run.line(containing: "is listening", on: loop)
                let digits = line.split(separator: "\"port\":").last?.prefix { $0.isNumber } ?? ""
                let port = try #require(UInt16(digits))
                let socket = try await TCP.connect(host: "127.0.0.1", port: port, timeout: .seconds(30), on: loop)
                let context = try TLSContext.client(trust: .pem(folder.read("ca.pem")), alpn: ["h2"])
                var stream = try TLSStream(client: context, host: "apns.test", socket: socket)
                try await stream.shakeHands(until: .now + .seconds(30), on: loop)
                // Which is no HTTP/2: a line of the log.
                try await stream.send(Array("GET / HTTP/1.1\r\n\r\n".utf8), until: .now + .seconds(30), on: loop)
                _ = try await run.line(containing: #""connection":1,"failed":"connection""#, on: loop)
                #expect(try await run.end(by: SIGTERM, on: loop) == .status(0))
                #expect(!run.said.contains("BEGIN CERTIFICATE"))
            }
        }
    }
}

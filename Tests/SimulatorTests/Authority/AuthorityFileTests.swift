import CarillonTLS
import Glibc
import TestSupport
import Testing

@testable import ApplePushSimulator

@Suite struct AuthorityFileTests {
    private func simulator(in folder: String) throws -> APNsSimulator {
        var configuration = SimulatorConfiguration()
        configuration.stateFolder = folder
        return try APNsSimulator(configuration)
    }

    @Test func `with a state folder the root stays the same`() async throws {
        try await TemporaryFolder.with { folder in
            let state = folder.file("state")
            let yesterday = try simulator(in: state)
            let certificate = try yesterday.issueCertificate(topics: ["com.example.app"])
            let today = try simulator(in: state + "/")
            #expect(today.rootPEM == yesterday.rootPEM)
            try await today.start()
            try await TestLoop.with { loop in
                let client = try await SimulatorClient.connect(
                    to: today,
                    certificate: certificate,
                    trusting: yesterday.rootPEM,
                    on: loop
                )
                #expect(try await client.send([SampleRequest()]).map(\.status) == [200])
            }
            await today.stop()
            #expect(try APNsSimulator().rootPEM != today.rootPEM)
        }
    }

    @Test func `the error names a file that holds no authority`() throws {
        try TemporaryFolder.with { folder in
            _ = try simulator(in: folder.path)
            _ = try folder.write("authority.pem", "nothing")
            let error = #expect(throws: SimulatorError.self) { try simulator(in: folder.path) }
            // A sentence begins with a capital, and a path does not.
            #expect(error?.message.hasPrefix("The file \(folder.path)/authority.pem holds no authority") == true)
        }
    }

    @Test func `a key that others may read is refused`() throws {
        try TemporaryFolder.with { folder in
            _ = try simulator(in: folder.path)
            let file = folder.file("authority.pem")
            for mode in [0o644, 0o640, 0o604] as [mode_t] {
                try #require(chmod(file, mode) == 0)
                let error = #expect(throws: SimulatorError.self) { try simulator(in: folder.path) }
                #expect(error?.message.contains("chmod 600 \(file)") == true)
            }
            try #require(chmod(file, 0o400) == 0)
            _ = try simulator(in: folder.path)
        }
    }

    @Test func `a state folder that is a file has an error of its own`() throws {
        try TemporaryFolder.with { folder in
            let file = try folder.write("AuthKey.p8", "a key")
            let error = #expect(throws: SimulatorError.self) { try simulator(in: file) }
            #expect(error?.message.contains("\(file) is a file") == true)
        }
    }

    @Test func `only its owner can read the key`() throws {
        try TemporaryFolder.with { folder in
            _ = try simulator(in: folder.file("state"))
            var facts = stat()
            #expect(lstat(folder.file("state"), &facts) == 0)
            #expect(facts.st_mode & 0o777 == 0o700)
            #expect(lstat(folder.file("state/authority.pem"), &facts) == 0)
            #expect(facts.st_mode & 0o777 == 0o600)
        }
    }

    @Test func `simulators that start at once agree on one authority`() async throws {
        try await TemporaryFolder.with { folder in
            let roots = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<8 { group.addTask { try simulator(in: folder.path).rootPEM } }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(roots.count == 1)
            let entries = try #require(opendir(folder.path))
            defer { closedir(entries) }
            var count = 0
            while readdir(entries) != nil { count += 1 }
            #expect(count == 3, "., .. and the authority")
        }
    }

    @Test func `a file that holds no authority is refused with what to do, and left alone`() throws {
        let authority = try CertificateAuthority(name: "Test")
        let server = try authority.issue(commonName: "localhost")
        let texts = ["", "nonsense", authority.pem, server.certificatePEM + server.privateKeyPEM]
        try TemporaryFolder.with { folder in
            for text in texts {
                _ = try folder.write("authority.pem", text)
                let error = #expect(throws: SimulatorError.self) { try simulator(in: folder.path) }
                #expect(error?.code == .badConfiguration)
                #expect(error?.message.contains("authority.pem holds no authority") == true)
                #expect(try folder.read("authority.pem") == text)
            }
        }
    }

    @Test func `a folder that cannot be made is an error`() {
        let error = #expect(throws: SimulatorError.self) { try simulator(in: "/nowhere/at/all") }
        #expect(error?.code == .unavailable)
        #expect(error?.message.hasPrefix("The folder /nowhere/at/all cannot be made") == true)
    }
}

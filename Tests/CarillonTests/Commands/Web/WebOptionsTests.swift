import TestSupport
import Testing

@Suite struct WebOptionsTests {
    @Test(arguments: [
        (["--http", "0.0.0.0:0", "--local-changes", "--operator-password-file", "FILE"], "--local-changes"),
        (["--password-file", "FILE", "--local-changes"], "--local-changes"),
        (["--operator", "anna"], "--trusted-proxy"), (["--trusted-proxy", "proxy.example"], "numeric address"),
        (["--public-host", "dashboard.example"], "--trusted-proxy"),
        (["--trusted-proxy", "127.0.0.1"], "--public-host dashboard.example.org"),
        (["--trusted-proxy", "10.0.0.2", "--trusted-proxy", "::0001"], "--public-host dashboard.example.org"),
        (["--trusted-proxy", "10.0.0.2", "--public-host", "https://dashboard.example"], "without a scheme"),
        (["--password-file", "FILE", "--operator-password-file", "FILE"], "one"),
    ])
    func `options that would give away a right are refused`(words: [String], said: String) async throws {
        try await TemporaryFolder.with { folder in
            let file = try folder.write("password", "correct horse\n")
            let ended = try await ProgramRun.run(["web"] + words.map { $0 == "FILE" ? file : $0 })
            #expect(ended.status == 2 && ended.errors.contains(said), "\(ended.errors)")
        }
    }
}

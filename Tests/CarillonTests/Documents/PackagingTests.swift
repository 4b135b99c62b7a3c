import CarillonIO
import FoundationEssentials
import TestSupport
import Testing

/// What operators install: the unit, the image.
@Suite struct PackagingTests {
    private static let root = #filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }
    private static let analyzer = "/usr/bin/systemd-analyze"

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: analyzer), "systemd is not installed"))
    func `the unit leaves a worker little to do harm with`() async throws {
        try await TestLoop.with { loop in
            // In tenths: the command fails above it.
            let command = ChildProcess.Command(
                Self.analyzer,
                ["security", "--offline=true", "--threshold=25", "\(Self.root)/docker/carillon-worker.service"]
            )
            let analysis = try ChildProcess(command)
            #expect(try await analysis.wait(on: loop, until: .now + .seconds(60)) == .status(0))
        }
    }

    @Test func `an image is built from the sources alone`() throws {
        let ignored = try String(contentsOfFile: "\(Self.root)/.dockerignore", encoding: .utf8)
        let copied = try String(contentsOfFile: "\(Self.root)/docker/Dockerfile", encoding: .utf8)
            .split(separator: "\n").filter { $0.hasPrefix("COPY ") && !$0.contains("--from") }
            .compactMap { $0.split(separator: " ").dropFirst().first }
        #expect(!copied.isEmpty && ignored.contains("\n*\n"))
        for name in copied { #expect(ignored.contains("\n!\(name)\n")) }
    }
}

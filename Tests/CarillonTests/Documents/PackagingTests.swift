import CarillonIO
import FoundationEssentials
import TestSupport
import Testing

/// What operators install: the units, the image.
@Suite struct PackagingTests {
    private static let root = #filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }
    private static let analyzer = "/usr/bin/systemd-analyze"

    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: analyzer), "systemd is not installed"),
        arguments: ["carillon-worker@", "carillon-web", "carillon-pyapns"]
    )
    func `a unit leaves the program little to do harm with`(unit: String) async throws {
        try await TestLoop.with { loop in
            // In tenths: the command fails above it.
            let command = ChildProcess.Command(
                Self.analyzer,
                ["security", "--offline=true", "--threshold=20", "\(Self.root)/docker/systemd/\(unit).service"]
            )
            let analysis = try ChildProcess(command)
            #expect(try await analysis.wait(on: loop, until: .now + .seconds(60)) == .status(0))
        }
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: analyzer), "systemd is not installed"))
    func `systemd understands the units and the settings of the page about installing`() async throws {
        let page = try String(contentsOfFile: "\(Self.root)/docs/install.md", encoding: .utf8)
        let boxes = page.matches(of: #/```ini\n([^`]*)```/#).map { String($0.output.1) }
        #expect(boxes.count == 2)
        let worker = try String(contentsOfFile: "\(Self.root)/docker/systemd/carillon-worker@.service", encoding: .utf8)
        try await TemporaryFolder.with { folder in
            try await TestLoop.with { loop in
                for (number, box) in boxes.enumerated() {
                    // Settings without a unit are added to that of the worker. The program is not installed here.
                    let unit = (box.contains("[Unit]") ? box : worker + "\n" + box)
                        .replacing("/usr/bin/carillon", with: "/bin/true")
                    let file = try folder.write("carillon-\(number)@main.service", unit)
                    var command = ChildProcess.Command(Self.analyzer, ["verify", "--man=no", file])
                    command.error = .file(folder.file("said"))
                    let verification = try ChildProcess(command)
                    #expect(try await verification.wait(on: loop, until: .now + .seconds(60)) == .status(0), "\(box)")
                    // What it does not know, it only mentions.
                    #expect(try folder.read("said") == "", "\(box)")
                }
            }
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

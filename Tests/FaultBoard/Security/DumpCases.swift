import CarillonIO
import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// What a worker that crashes leaves behind.
@Suite(.scene) struct DumpCases {
    /// Whether the kernel writes a core dump into the folder in which a process runs, not elsewhere or to a program.
    private static let areDumpsHere: Bool = {
        let pattern = try? String(contentsOfFile: "/proc/sys/kernel/core_pattern", encoding: .utf8)
        return pattern?.hasPrefix("core") ?? false
    }()

    @Test(.enabled(if: Self.areDumpsHere, "core dumps of this machine go elsewhere"))
    func `S8: a worker that crashes while it holds keys leaves no core dump`() async throws {
        let shell = "ulimit -c unlimited; export SWIFT_BACKTRACE=enable=no"
        func dumps() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: scene.folder.path).filter { $0.hasPrefix("core") }
        }
        let victim = try scene.fleet.start(shell: shell)
        try await victim.started()
        scene.record.at(50, .received) { victim.signal(SIGSEGV) }
        try await scene.enqueue(200)
        #expect(try await victim.end() == .signal(SIGSEGV))
        #expect(try dumps() == [])
        // A program that does not prevent core dumps leaves one.
        var other = ChildProcess.Command("/bin/sh", ["-c", "\(shell); kill -SEGV $$"])
        other.directory = scene.folder.path
        #expect(try await ChildProcess(other).wait(on: scene.loop) == .signal(SIGSEGV))
        #expect(try dumps() != [])
        try await scene.fleet.started()
        try await scene.finish(duplicates: 200)
    }
}

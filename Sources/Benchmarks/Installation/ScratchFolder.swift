import CarillonIO
import FoundationEssentials
import Glibc

/// A temporary folder, removed with its last reference.
final class ScratchFolder: Sendable {
    private let folder: String

    init() throws {
        let parent = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
        folder = "\(parent)/carillon-bench-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func path(_ name: String) -> String { "\(folder)/\(name)" }

    func write(_ name: String, _ text: String) throws -> String {
        try Data(text.utf8).write(to: URL(filePath: path(name)))
        return path(name)
    }

    /// The text of the file whose name begins with the prefix.
    func read(_ prefix: String) throws -> String {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        guard let name = names.first(where: { $0.hasPrefix(prefix) }) else {
            throw BenchmarkError("There is no file \(prefix) in \(folder).")
        }
        // Foundation leaks memory when it reads an empty file.
        var status = stat()
        guard stat(path(name), &status) == 0, status.st_size > 0 else { return "" }
        return try String(contentsOfFile: path(name), encoding: .utf8)
    }

    /// Runs a program to its end and returns what it has printed.
    func output(of command: ChildProcess.Command) async throws -> String {
        var command = command
        command.output = .file(path("output"))
        command.error = .file(path("output"))
        try Data().write(to: URL(filePath: path("output")))
        let exit = try await EventLoop.with(name: "benchmark") { loop in
            try await ChildProcess(command).wait(on: loop)
        }
        let text = try read("output")
        guard exit == .status(0) else { throw BenchmarkError("\(command.program) ended with \(exit):\n\(text)") }
        return text
    }
}

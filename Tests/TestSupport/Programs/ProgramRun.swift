package import CarillonIO
import FoundationEssentials
import Glibc

/// A run of a built program, with arguments and environment variables.
package struct ProgramRun {
    package let status: Int32
    package let output: String
    package let errors: String

    package static var path: String { get throws { try path(of: "carillon") } }

    /// The programs are in the folder of the tests.
    private static func path(of program: String) throws -> String {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return tests.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 } + "/" + program
    }

    /// Of the tests' environment only what a program needs to run.
    package static func environment(_ more: [String: String]) -> [String: String] {
        let kept = ProcessInfo.processInfo.environment.filter { ["PATH", "HOME", "TMPDIR"].contains($0.key) }
        return kept.merging(more) { $1 }
    }

    package static func run(
        _ words: [String],
        of program: String = "carillon",
        environment: [String: String] = [:],
        input: ChildProcess.Command.Stream = .nothing,
        output: ChildProcess.Command.Stream? = nil,
        errors: ChildProcess.Command.Stream? = nil,
        within limit: Duration = .seconds(180)
    ) async throws -> ProgramRun {
        try await TemporaryFolder.with { folder in
            var command = ChildProcess.Command(try path(of: program), words)
            command.environment = Self.environment(environment)
            command.input = input
            command.output = output ?? .file(folder.file("output"))
            command.error = errors ?? .file(folder.file("errors"))
            let child = try ChildProcess(command)
            let exit = try await TestLoop.with { loop in
                try await child.wait(on: loop, until: .now + limit)
            }
            let written = (
                output: output == nil ? try folder.read("output") : "",
                errors: errors == nil ? try folder.read("errors") : ""
            )
            guard case .status(let status) = exit else {
                throw Failure(exit: exit, output: written.output, errors: written.errors)
            }
            return ProgramRun(status: status, output: written.output, errors: written.errors)
        }
    }

    package struct Failure: Error {
        package let exit: ChildProcess.Exit
        package let output: String
        package let errors: String
    }
}

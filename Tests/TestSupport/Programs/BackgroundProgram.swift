package import CarillonIO
import Glibc

/// The built program in the background. Its output goes to a socket, so that a test can wait for it.
package final class BackgroundProgram {
    private let child: ChildProcess
    private let voice: CInt
    private var heard: [UInt8] = []
    /// How long to wait for a line, or for the end.
    private static let longestWait = Duration.seconds(180)

    /// - Parameter shell: What a shell runs before it becomes the program, such as "ulimit -n 32".
    package init(
        _ words: [String],
        environment: [String: String] = [:],
        in folder: TemporaryFolder,
        input: ChildProcess.Command.Stream = .nothing,
        shell: String? = nil
    ) throws {
        let (ours, theirs) = try SocketPair().release()
        voice = ours
        defer { close(theirs) }
        var command = ChildProcess.Command(try ProgramRun.path, words)
        if let shell {
            command = ChildProcess.Command("/bin/sh", ["-c", "\(shell); exec \"$0\" \"$@\"", command.program] + words)
        }
        command.environment = ProgramRun.environment(environment)
        command.input = input
        command.directory = folder.path
        command.output = .descriptor(theirs)
        command.error = .descriptor(theirs)
        child = try ChildProcess(command)
    }

    deinit {
        child.signal(SIGKILL)
        close(voice)
    }

    /// Waits for a whole line that contains the text, for three minutes at most. Once the program has ended, the last line need
    /// not have a newline.
    package func line(containing text: String, on loop: EventLoop) async throws -> String {
        let deadline = MonotonicInstant.now + Self.longestWait
        var hasEnded = false
        while true {
            let count = hasEnded ? heard.count : heard.lastIndex(of: UInt8(ascii: "\n")) ?? 0
            let lines = String(decoding: heard.prefix(count), as: UTF8.self).split(separator: "\n")
            if let line = lines.first(where: { $0.contains(text) }) { return String(line) }
            if hasEnded { throw IOError(.reset, "the program ended without saying '\(text)', but: \(said)") }
            guard .now < deadline else { throw IOError(.timedOut, "the program did not say '\(text)', but: \(said)") }
            hasEnded = try await !hear(on: loop, until: deadline)
        }
    }

    /// The output so far.
    package var said: String { String(decoding: heard, as: UTF8.self) }

    package var processID: Int32 { child.processID }

    /// The processor time that it has taken so far.
    package var processorSeconds: Double {
        get throws {
            var (clock, time) = (clockid_t(), timespec())
            guard clock_getcpuclockid(processID, &clock) == 0, clock_gettime(clock, &time) == 0 else {
                throw IOError(.system, "the program's processor time cannot be read")
            }
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
    }

    package func signal(_ number: CInt) { child.signal(number) }

    package func end(by number: CInt? = nil, on loop: EventLoop) async throws -> ChildProcess.Exit {
        if let number { child.signal(number) }
        let deadline = MonotonicInstant.now + Self.longestWait
        while try await hear(on: loop, until: deadline) {}
        return try await child.wait(on: loop, until: deadline)
    }

    private func hear(on loop: EventLoop, until deadline: MonotonicInstant) async throws -> Bool {
        _ = try await loop.readiness(of: voice, for: .read, until: deadline, doing: "listening to the program")
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = read(voice, &chunk, chunk.count)
        if count > 0 { heard += chunk[..<count] }
        return count > 0
    }
}

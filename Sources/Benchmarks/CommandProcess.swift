import Glibc
import IO

/// A command of `carillon`, as a user would run it, and what it took of the machine.
struct CommandProcess {
    private let process: ChildProcess

    /// `carillon worker`.
    init(serving database: String, once: Bool = true, _ options: [String] = []) throws {
        try self.init(["worker"] + (once ? ["--once"] : []) + options, on: database)
    }

    init(_ words: [String], on database: String) throws {
        var command = ChildProcess.Command(Installation.program("carillon"), words + ["--database", database])
        command.output = .nothing
        command.error = .nothing
        self.process = try ChildProcess(command)
    }

    /// What it has taken so far.
    func reading() throws -> ProcessReading {
        guard let reading = ProcessReading(self.process.processID) else { throw BenchmarkError("The program is gone.") }
        return reading
    }

    /// Tells it to drain, and waits until it has.
    @discardableResult
    func stop(on loop: EventLoop) async throws -> (peakMemory: Int, processorTime: Duration) {
        self.process.signal(SIGTERM)
        return try await self.wait(on: loop)
    }

    /// For when nothing matters any more.
    func kill() { self.process.signal(SIGKILL) }

    /// Waits until it has ended, which it must with 0: with `once` when the queue is empty, else when it was told to.
    func wait(on loop: EventLoop) async throws -> (peakMemory: Int, processorTime: Duration) {
        var peakMemory = 0
        while true {
            do {
                let exit = try await self.process.wait(on: loop, until: .now + .milliseconds(20))
                guard exit == .status(0), let usage = self.process.usageIfEnded() else {
                    throw BenchmarkError("The program ended with \(exit).")
                }
                return (peakMemory, usage.processorTime)
            } catch let error as IOError where error.code == .timedOut {
                // The kernel keeps the peak for as long as the process lives: the last look is the one that counts.
                peakMemory = max(peakMemory, ProcessReading(self.process.processID)?.peakMemory ?? 0)
            }
        }
    }
}

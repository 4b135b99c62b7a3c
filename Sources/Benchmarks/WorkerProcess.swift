import Glibc
import IO

/// `carillon worker --once`, as a user would run it, and what it took of the machine.
struct WorkerProcess {
    private let process: ChildProcess

    init(serving database: String) throws {
        var command = ChildProcess.Command(
            Installation.program("carillon"),
            ["worker", "--once", "--database", database]
        )
        command.output = .nothing
        command.error = .nothing
        self.process = try ChildProcess(command)
    }

    /// Waits until the queue is empty and the worker has ended, which it must with 0.
    func wait(on loop: EventLoop) async throws -> (peakMemory: Int, processorTime: Duration) {
        var peakMemory = 0
        while true {
            do {
                let exit = try await self.process.wait(on: loop, until: .now + .milliseconds(20))
                guard exit == .status(0), let usage = self.process.usageIfEnded() else {
                    throw BenchmarkError("The worker ended with \(exit).")
                }
                return (peakMemory, usage.processorTime)
            } catch let error as IOError where error.code == .timedOut {
                // The kernel keeps the peak for as long as the process lives: the last look is the one that counts.
                peakMemory = max(peakMemory, self.peakMemory)
            }
        }
    }

    /// The most memory that was resident so far, in bytes.
    private var peakMemory: Int {
        guard let file = fopen("/proc/\(self.process.processID)/status", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, CInt(line.count), file) != nil {
            let words = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
                .split { $0 == " " || $0 == "\t" || $0 == "\n" }
            if words.first == "VmHWM:", words.count > 1, let kilobytes = Int(words[1]) { return kilobytes * 1024 }
        }
        return 0
    }
}

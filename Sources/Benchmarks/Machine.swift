import FoundationEssentials
import Glibc

/// What the figures were measured on.
enum Machine {
    /// With the commit, if `make` gives it.
    static var description: String {
        let commit = ProcessInfo.processInfo.environment["COMMIT"].map { "commit \($0), " } ?? ""
        let processor = text("/proc/cpuinfo").firstMatch(of: #/model name\s*: (.*)/#)?.output.1 ?? "unknown"
        let kernel = text("/proc/sys/kernel/osrelease").prefix { !$0.isNewline }
        return "\(commit)\(sysconf(CInt(_SC_NPROCESSORS_ONLN))) cores (\(processor)), Linux \(kernel)"
    }

    /// A file of the kernel; empty if there is none.
    static func text(_ path: String) -> String {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}

/// The kernel's figures for a running process.
struct ProcessReading {
    /// The largest resident memory so far, in bytes.
    let peakMemory: Int
    /// How long its threads have run.
    let processorTime: Duration

    /// Nil: there is no such process.
    init?(_ processID: Int32) {
        let peak = Machine.text("/proc/\(processID)/status").firstMatch(of: #/VmHWM:\s*([0-9]+)/#)
        // The name of the process is in brackets, and may contain spaces.
        let fields = Machine.text("/proc/\(processID)/stat").split(separator: ")").last?.split(separator: " ") ?? []
        // proc(5): the fields 14 and 15 of all are 12 and 13 after the name.
        guard fields.count > 12, let user = Int(fields[11]), let system = Int(fields[12]) else { return nil }
        peakMemory = peak.flatMap { Int($0.output.1) }.map { $0 * 1024 } ?? 0
        processorTime = .seconds(1) * Double(user + system) / Double(sysconf(CInt(_SC_CLK_TCK)))
    }
}

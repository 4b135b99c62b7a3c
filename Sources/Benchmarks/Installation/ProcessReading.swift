import Glibc

/// The kernel's figures for a running process.
struct ProcessReading {
    /// The largest resident memory so far, in bytes.
    let peakMemory: Int
    let processorTime: Duration
    /// How long its first thread has run. Unlike `processorTime`, it is not a multiple of 10 ms, if the kernel counts it.
    let firstThreadTime: Duration

    /// Nil if there is no such process.
    init?(_ processID: Int32) {
        let peak = Machine.text("/proc/\(processID)/status").firstMatch(of: #/VmHWM:\s*([0-9]+)/#)
        // The name of the process is in brackets, and may contain spaces.
        let fields = Machine.text("/proc/\(processID)/stat").split(separator: ")").last?.split(separator: " ") ?? []
        // proc(5): fields 14 and 15 are the 12th and 13th after the name.
        guard fields.count > 12, let user = Int(fields[11]), let system = Int(fields[12]) else { return nil }
        peakMemory = peak.flatMap { Int($0.output.1) }.map { $0 * 1024 } ?? 0
        processorTime = .seconds(1) * Double(user + system) / Double(sysconf(CInt(_SC_CLK_TCK)))
        let nanoseconds = Machine.text("/proc/\(processID)/schedstat").split(separator: " ").first.flatMap { Int64($0) }
        firstThreadTime = nanoseconds.map { .nanoseconds($0) } ?? processorTime
    }
}

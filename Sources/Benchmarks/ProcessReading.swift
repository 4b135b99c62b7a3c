import Glibc

/// What the kernel says of a process that lives.
struct ProcessReading {
    /// The most memory that was resident so far, in bytes.
    let peakMemory: Int
    /// For how long its threads were running.
    let processorTime: Duration

    /// Nil: there is no such process.
    init?(_ processID: Int32) {
        guard let status = Self.text("/proc/\(processID)/status"), let times = Self.text("/proc/\(processID)/stat"),
            // The name in it, in brackets, may have spaces of its own.
            let end = times.lastIndex(of: ")")
        else { return nil }
        let peak = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        let words = peak?.split { $0 == " " || $0 == "\t" } ?? []
        self.peakMemory = words.count > 1 ? (Int(words[1]) ?? 0) * 1024 : 0
        let fields = times[end...].split(separator: " ")
        // proc(5): the fields 14 and 15 of all, 12 and 13 after the name.
        guard fields.count > 13, let user = Int(fields[12]), let system = Int(fields[13]) else { return nil }
        self.processorTime = .seconds(1) * Double(user + system) / Double(sysconf(CInt(_SC_CLK_TCK)))
    }

    private static func text(_ path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 8192)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}

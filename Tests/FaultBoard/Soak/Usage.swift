import Glibc

/// The resources of a process: resident memory, open descriptors, threads.
struct Usage {
    /// In bytes.
    let memory: Int
    let descriptors: Int
    let threads: Int

    /// By proc(5); nil: the process is gone.
    init?(of processID: Int32) {
        guard let memory = Self.residentMemory(of: processID),
            let descriptors = Self.entries(in: "/proc/\(processID)/fd"),
            let threads = Self.entries(in: "/proc/\(processID)/task")
        else { return nil }
        self.memory = memory
        self.descriptors = descriptors
        self.threads = threads
    }

    private static func residentMemory(of processID: Int32) -> Int? {
        guard let file = fopen("/proc/\(processID)/statm", "r") else { return nil }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 256)
        guard let line = fgets(&buffer, CInt(buffer.count), file).map({ String(cString: $0) }) else { return nil }
        let pages = line.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return pages.map { $0 * sysconf(CInt(_SC_PAGESIZE)) }
    }

    private static func entries(in folder: String) -> Int? {
        guard let stream = opendir(folder) else { return nil }
        defer { closedir(stream) }
        var count = 0
        while readdir(stream) != nil { count += 1 }
        // Without "." and "..".
        return count - 2
    }
}

import Glibc

extension WorkerProcess {
    /// The most memory that it has ever held, in bytes; nil: it is gone. proc(5), VmHWM.
    var mostMemory: Int? {
        guard let file = fopen("/proc/\(processID)/status", "r") else { return nil }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 256)
        while let line = fgets(&buffer, CInt(buffer.count), file).map({ String(cString: $0) }) {
            let words = line.split(whereSeparator: \.isWhitespace)
            if words.first == "VmHWM:", words.count > 1, let kilobytes = Int(words[1]) { return kilobytes << 10 }
        }
        return nil
    }
}

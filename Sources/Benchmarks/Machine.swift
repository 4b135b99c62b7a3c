import Glibc

/// What the figures were measured on.
struct Machine: CustomStringConvertible {
    let processor: String
    let cores: Int
    let kernel: String

    static var current: Machine {
        var name = utsname()
        uname(&name)
        let release = withUnsafeBytes(of: &name.release) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        return Machine(
            processor: Self.processorName() ?? "unknown",
            cores: sysconf(CInt(_SC_NPROCESSORS_ONLN)),
            kernel: release
        )
    }

    var description: String { "\(self.cores) cores (\(self.processor)), Linux \(self.kernel)" }

    private static func processorName() -> String? {
        guard let file = fopen("/proc/cpuinfo", "r") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 512)
        while fgets(&line, CInt(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            guard text.hasPrefix("model name"), let colon = text.firstIndex(of: ":") else { continue }
            return String(text[text.index(after: colon)...].drop { $0 == " " }.prefix { $0 != "\n" })
        }
        return nil
    }
}

import FoundationEssentials
import Glibc

/// The machine and the commit that the figures were measured on.
enum Machine {
    /// The commit, as passed by `make`.
    static var commit: String { ProcessInfo.processInfo.environment["COMMIT"] ?? "unknown" }

    static var description: String {
        let processor = text("/proc/cpuinfo").firstMatch(of: #/model name\s*: (.*)/#)?.output.1 ?? "unknown"
        let kernel = text("/proc/sys/kernel/osrelease").prefix { !$0.isNewline }
        return "\(sysconf(CInt(_SC_NPROCESSORS_ONLN))) cores (\(processor)), Linux \(kernel)"
    }

    /// A file of the kernel; empty if there is none.
    static func text(_ path: String) -> String {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}

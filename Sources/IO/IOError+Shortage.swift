import Glibc

extension IOError {
    /// What to do about one of the kernel's numbers that says that this process or machine has come to a limit. Nil: it
    /// says something else.
    package static func advice(onShortage number: CInt) -> String? {
        switch number {
        case EMFILE:
            let limit = Self.openFiles.map { "the limit of this process is \($0)" } ?? "this process has a limit"
            return "\(limit); raise it with 'ulimit -n', or LimitNOFILE= in its systemd unit"
        case ENFILE: return "this machine has a limit for all programs together; raise fs.file-max"
        case ENOMEM, ENOBUFS: return "this machine, or what this program may have of it, is short of memory"
        default: return nil
        }
    }

    /// How many files this process may have open. getrlimit(2).
    package static var openFiles: UInt? {
        var limit = rlimit()
        guard getrlimit(.init(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        return UInt(limit.rlim_cur)
    }
}

import CarillonIO
import Glibc

/// What the program does where memory, address space, threads or files are limited: it ends with a sentence, instead of waiting for
/// a thread that cannot be started, or ending by a signal.
enum ResourceLimits {
    /// Threads reserve most of it, for stacks and for the C library, and use little.
    private static let needed = 768 << 20
    /// More than any command has when it starts. Swift's runtime waits forever for a thread that it cannot start.
    private static let threads = 24
    /// More than Swift's runtime and any command open while they start. The runtime ends the program by a signal if it finds none.
    private static let files = 20
    /// If so much is not left when the program fails, it has failed for lack of memory.
    private static let reserve = 64 << 20

    /// Why the program cannot start; nil if it can.
    static var complaint: String? {
        has(Self.needed, PROT_NONE) ? complaintOfThreads ?? complaintOfFiles : complaintOfMemory
    }

    private static var complaintOfFiles: String? {
        IOError.shortage(ofFiles: files).map { number in
            "This program cannot open \(files) files: \(IOError.advice(onShortage: number) ?? IOError.text(of: number))."
        }
    }

    private static var complaintOfThreads: String? {
        if Thread.canRun(threads) { return nil }
        return "This program cannot start \(threads) threads: \(Thread.advice)."
    }

    private static var complaintOfMemory: String {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
        let needed = "\(Self.needed >> 20) MB of address space, most of which stays unused"
        if limit.rlim_cur == rlim_t.max { return "There is not enough memory: this program needs \(needed)." }
        return """
            The limit of this process is \(limit.rlim_cur >> 20) MB of address space, and it needs \(needed). Raise it with \
            'ulimit -v', or LimitAS= in its systemd unit; MemoryMax= there limits the memory itself.
            """
    }

    /// - Parameter protection: RLIMIT_DATA and the kernel's own limit count only pages that may be written.
    private static func has(_ size: Int, _ protection: CInt) -> Bool {
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
        guard let pages = mmap(nil, size, protection, flags, -1, 0), pages != MAP_FAILED else { return false }
        munmap(pages, size)
        return true
    }

    /// If an allocation fails, or the Swift runtime finds no descriptor, it ends the program by a signal, which looks like a fault of
    /// the program. The handler calls only what is allowed in one, and stays: other threads may fail while it writes.
    static func explainShortages() {
        for signal in [SIGILL, SIGTRAP, SIGABRT, SIGSEGV] {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { number in
                let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
                if descriptor < 0, errno == EMFILE || errno == ENFILE {
                    ResourceLimits.end(
                        "carillon: there are too few file descriptors: raise 'ulimit -n', or LimitNOFILE=\n"
                    )
                }
                close(descriptor)
                if !ResourceLimits.has(ResourceLimits.reserve, PROT_READ | PROT_WRITE) {
                    ResourceLimits.end("carillon: there is not enough memory within the limits of this process\n")
                }
                // Without a shortage, the signal ends the program as usual.
                Glibc.signal(number, SIG_DFL)
                raise(number)
            }
            sigaction(signal, &action, nil)
        }
    }

    private static func end(_ sentence: StaticString) {
        write(2, sentence.utf8Start, sentence.utf8CodeUnitCount)
        _exit(ExitStatus.exhausted.code)
    }
}

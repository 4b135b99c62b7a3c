import Glibc

/// An error from the kernel or the network.
package struct IOError: CodedError {
    package enum Code: Sendable {
        /// The host's name could not be turned into an address.
        case unresolvable
        /// The host refused the connection: nothing listens on the port.
        case refused
        /// There is no route to the host, or the network is down.
        case unreachable
        case timedOut
        /// The waiting task was cancelled, or the loop it waited on was stopped.
        case cancelled
        /// The port or the address is in use.
        case addressInUse
        /// The address is invalid or does not belong to this machine.
        case addressUnavailable
        /// The operating system forbids it.
        case forbidden
        /// The peer reset the connection.
        case reset
        /// The process or the machine has run out of descriptors, memory or threads.
        case exhausted
        /// Anything else: see `errno`.
        case system
    }

    package let code: Code
    package let message: String
    /// The kernel's error number; 0 if the error is not from the kernel.
    package let errno: CInt

    package init(_ code: Code, _ message: String, errno: CInt = 0) {
        self.code = code
        self.message = message
        self.errno = errno
    }

    /// From a failed system call: `doing` names the operation, as in "reading from the socket".
    package init(errno number: CInt, doing: String) {
        let advice = Self.advice(onShortage: number).map { ": \($0)" } ?? ""
        self.init(Code(errno: number), "\(doing) failed: \(Self.text(of: number))\(advice)", errno: number)
    }

    /// strerror(3).
    package static func text(of number: CInt) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let base = buffer.baseAddress, strerror_r(number, base, buffer.count) == 0 else {
                return "error \(number)"
            }
            return String(cString: base)
        }
    }

    /// Advice for an errno that means that a limit of this process or machine was reached; nil for any other errno.
    package static func advice(onShortage number: CInt) -> String? {
        switch number {
        case EMFILE:
            let limit = openFiles.map { "the limit of this process is \($0)" } ?? "this process has a limit"
            return "\(limit); raise it with 'ulimit -n', or LimitNOFILE= in its systemd unit"
        case ENFILE: return "this machine has a limit for all programs together; raise fs.file-max"
        case ENOMEM, ENOBUFS: return "there is not enough memory on this machine, or within this program's limit"
        default: return nil
        }
    }

    /// The errno of a shortage if so many more files cannot be open at the same time at the moment. Libraries report such a
    /// shortage as something else, such as a name that does not exist, and have closed what they had opened when they do.
    package static func shortage(ofFiles count: Int) -> CInt? {
        var descriptors: [CInt] = []
        defer { for descriptor in descriptors { close(descriptor) } }
        for _ in 0..<count {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            let number = Glibc.errno
            guard descriptor >= 0 else { return advice(onShortage: number) == nil ? nil : number }
            descriptors.append(descriptor)
        }
        return nil
    }

    /// The errno of a shortage that makes a host's name look as if it did not exist.
    package static var shortageOfLookup: CInt? { shortage(ofFiles: 4) }

    /// How many files this process may have open. getrlimit(2).
    private static var openFiles: UInt? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        return UInt(limit.rlim_cur)
    }
}

extension IOError.Code {
    init(errno number: CInt) {
        self =
            switch number {
            case ECONNREFUSED: .refused
            case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN: .unreachable
            case ETIMEDOUT: .timedOut
            case EADDRINUSE: .addressInUse
            case EADDRNOTAVAIL, EAFNOSUPPORT: .addressUnavailable
            case EACCES, EPERM: .forbidden
            case ECONNRESET, EPIPE, ECONNABORTED, ENOTCONN: .reset
            case EMFILE, ENFILE, ENOMEM, ENOBUFS, EAGAIN: .exhausted
            default: .system
            }
    }
}

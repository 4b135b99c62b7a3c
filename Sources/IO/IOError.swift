import Glibc

/// What went wrong between this program and the kernel, or the network behind it.
package struct IOError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure, to be compared; more kinds may come.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        package let description: String

        /// The host's name could not be turned into an address.
        package static let unresolvable = Code(description: "unresolvable")
        /// The host answered that nothing listens there.
        package static let refused = Code(description: "refused")
        /// No way to the host: no route, or a network that is down.
        package static let unreachable = Code(description: "unreachable")
        /// The time allowed ran out.
        package static let timedOut = Code(description: "timedOut")
        /// The waiting task was cancelled, or the loop it waited on was stopped.
        package static let cancelled = Code(description: "cancelled")
        /// The port, or the address, is taken by another program.
        package static let addressInUse = Code(description: "addressInUse")
        /// The address is not one of this machine's, or not an address.
        package static let addressUnavailable = Code(description: "addressUnavailable")
        /// The operating system forbids it.
        package static let forbidden = Code(description: "forbidden")
        /// The peer broke the connection off.
        package static let reset = Code(description: "reset")
        /// Descriptors, memory or threads have run out.
        package static let exhausted = Code(description: "exhausted")
        /// Anything else: the number tells.
        package static let system = Code(description: "system")
    }

    package let code: Code
    /// A sentence for people: what is wrong and, where we know it, what to do.
    package let message: String
    /// The kernel's number for it, 0 where the kernel was not asked.
    package let errno: CInt

    package init(_ code: Code, _ message: String, errno: CInt = 0) {
        self.code = code
        self.message = message
        self.errno = errno
    }

    /// From a failed system call: `doing` says what was tried, as in "reading from the socket".
    package init(errno number: CInt, doing: String) {
        let advice = Self.advice(onShortage: number).map { ": \($0)" } ?? ""
        self.init(Code(errno: number), "\(doing) failed: \(Self.text(of: number))\(advice)", errno: number)
    }

    package var description: String { message }

    /// The kernel's own words for one of its numbers.
    package static func text(of number: CInt) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let base = buffer.baseAddress, strerror_r(number, base, buffer.count) == 0 else {
                return "error \(number)"
            }
            return String(cString: base)
        }
    }
}

extension IOError.Code {
    /// The kind of failure that one of the kernel's numbers stands for.
    package init(errno number: CInt) {
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

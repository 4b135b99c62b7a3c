import CarillonCLinux
import Glibc

/// A program that this one has started.
///
/// The child is identified by a process descriptor (pidfd), not by its process ID: an event loop can wait for its end, and a signal
/// cannot reach an unrelated process that reuses the ID. Nothing else may wait for this process's children.
package final class ChildProcess: Sendable {
    package enum Exit: Hashable, Sendable {
        case status(CInt)
        case signal(CInt)
    }

    package let processID: Int32
    private let descriptor: CInt
    private let end = Guarded<(exit: Exit, processorTime: Duration)?>(nil)

    package init(_ command: Command) throws(IOError) {
        self.processID = try command.spawn()
        do {
            descriptor = try SystemCall.check("watching over \(command.program)") { [processID] in
                clinux_pidfd_open(processID)
            }
        } catch {
            kill(self.processID, SIGKILL)
            var status: CInt = 0
            waitpid(self.processID, &status, 0)
            throw error
        }
    }

    /// A child that still runs is left running.
    deinit { close(descriptor) }

    /// Does nothing if the child has ended.
    package func signal(_ number: CInt) { _ = clinux_pidfd_send_signal(descriptor, number) }

    /// The exit; nil while the child runs.
    package func exitIfEnded() -> Exit? { reap()?.exit }

    /// The processor time of the child's threads; nil while it runs. Its memory is not reported: the kernel's figure includes ours,
    /// which the child briefly shares before it executes its program.
    package func processorTimeIfEnded() -> Duration? { reap()?.processorTime }

    private func reap() -> (exit: Exit, processorTime: Duration)? {
        end.withLock { end in
            if let end { return end }
            var status: CInt = 0
            var usage = rusage()
            var result: pid_t
            repeat { result = wait4(processID, &status, WNOHANG, &usage) } while result < 0 && errno == EINTR
            guard result == processID else { return nil }
            // The low seven bits are the signal that ended the child; if they are 0, the next eight bits are its exit status.
            let signal = status & 0x7f
            let seconds = Duration.seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            let time = seconds + .microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
            end = (signal == 0 ? .status((status >> 8) & 0xff) : .signal(signal), time)
            return end
        }
    }

    /// Waits for the child's end; any number of tasks may. Throws at the deadline, or when the task is cancelled.
    package func wait(
        on loop: EventLoop,
        until deadline: MonotonicInstant = .now + .seconds(1_000_000_000)
    ) async throws(IOError) -> Exit {
        while true {
            if let exit = exitIfEnded() { return exit }
            // A descriptor can be watched only once, so each wait has its own.
            let own = try SystemCall.check("waiting for a child") { fcntl(descriptor, F_DUPFD_CLOEXEC, 0) }
            defer { close(own) }
            _ = try await loop.readiness(of: own, for: .read, until: deadline, doing: "waiting for a child's end")
        }
    }
}

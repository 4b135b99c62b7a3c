import CarillonCLinux
import Glibc
import Synchronization

/// A thread that has to be joined.
///
/// It blocks all signals except its own faults, so that the others go to the main thread and a `SIGPIPE` raised by writing to a
/// closed socket does not end the process.
package final class Thread: Sendable {
    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    private let handle: Guarded<pthread_t?>

    /// Identifies the calling thread while it runs.
    static var current: UInt { pthread_self() }

    init(name: String, _ body: @escaping @Sendable () -> Void) throws(IOError) {
        handle = try Guarded(Self.start(Start(name: name, body: body), detached: false))
    }

    /// Waits for the thread to end. Joining twice is harmless.
    func join() {
        handle.withLock { handle in
            guard let running = handle.take() else { return }
            precondition(pthread_equal(running, pthread_self()) == 0, "a thread cannot wait for its own end")
            pthread_join(running, nil)
        }
    }

    deinit {
        // The last reference may be dropped on the thread itself, which cannot join itself.
        handle.withLock { handle in
            if let running = handle.take() { pthread_detach(running) }
        }
    }

    /// Advice where no thread can be started.
    package static let advice =
        "this process or its user may have no more threads; raise 'ulimit -u', or TasksMax= in its systemd unit"

    /// Whether so many more threads can run at the same time. pthread_create(3).
    package static func canRun(_ count: Int) -> Bool {
        let gate = Guarded(())
        var threads: [Thread] = []
        let areStarted = gate.withLock { _ in
            for _ in 0..<count {
                guard let thread = try? Thread(name: "trial", { gate.withLock { _ in } }) else { return false }
                threads.append(thread)
            }
            return true
        }
        for thread in threads { thread.join() }
        return areStarted
    }

    /// Starts a thread that is not joined, because it may be stuck in a call that cannot be interrupted.
    package static func detach(name: String, _ body: @escaping @Sendable () -> Void) throws(IOError) {
        let counted = Start(name: name) {
            body()
            detached.wrappingSubtract(1, ordering: .releasing)
        }
        detached.wrappingAdd(1, ordering: .relaxed)
        do {
            _ = try start(counted, detached: true)
        } catch {
            detached.wrappingSubtract(1, ordering: .relaxed)
            throw error
        }
    }

    /// How many detached threads run.
    private static let detached = Atomic<Int>(0)

    /// Ends the process. Exit handlers free what libraries use, such as the algorithms of OpenSSL, and a detached thread that is still
    /// inside one would crash. They are left out while there is such a thread.
    package static func exitProcess(_ status: CInt) -> Never {
        if detached.load(ordering: .acquiring) > 0 {
            fflush(nil)
            _exit(status)
        }
        exit(status)
    }

    private static func start(_ start: Start, detached: Bool) throws(IOError) -> pthread_t? {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        if detached { pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED)) }

        // The new thread inherits the mask, so no signal can reach it before it blocks signals itself.
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGPROF] { sigdelset(&all, fault) }
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }

        var thread = pthread_t()
        // The new thread takes over this reference; if no thread is created, it is released below.
        let argument = Unmanaged.passRetained(start)
        let result = pthread_create(
            &thread,
            &attributes,
            { argument in
                Thread.run(argument)
                return nil
            },
            argument.toOpaque()
        )
        guard result == 0 else {
            argument.release()
            if result == EAGAIN { throw IOError(.exhausted, "no thread can be started: \(advice)", errno: result) }
            throw IOError(errno: result, doing: "starting the thread \(start.name)")
        }
        return thread
    }

    private static func run(_ argument: UnsafeMutableRawPointer?) {
        guard let argument else { return }
        let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
        setName(start.name)
        start.body()
    }

    /// Names the calling thread for debuggers; Linux takes 15 bytes.
    private static func setName(_ name: String) {
        let short = String(name.prefix(15))
        pthread_setname_np(pthread_self(), short)
    }
}

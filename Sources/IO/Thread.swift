import CLinux
import Glibc

/// A thread of our own, which somebody has to join.
///
/// It takes no signals but its own faults: the others belong to the program's main thread, and a `SIGPIPE` raised by a
/// write to a closed socket must not end a process that did not ask for it.
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

    /// The thread this is read on.
    static var current: pthread_t { pthread_self() }

    init(name: String, _ body: @escaping @Sendable () -> Void) throws(IOError) {
        handle = try Guarded(Self.start(Start(name: name, body: body), detached: false))
    }

    /// Waits for the thread's end. Joining twice is harmless.
    func join() {
        self.handle.withLock { handle in
            guard let running = handle.take() else { return }
            precondition(pthread_equal(running, pthread_self()) == 0, "a thread cannot wait for its own end")
            pthread_join(running, nil)
        }
    }

    deinit {
        // The last reference may go on the thread itself, which cannot join itself; its resources are freed this way.
        self.handle.withLock { handle in
            if let running = handle.take() { pthread_detach(running) }
        }
    }

    /// A thread that nobody waits for, because it may be stuck in a call that cannot be interrupted.
    package static func detach(name: String, _ body: @escaping @Sendable () -> Void) throws(IOError) {
        _ = try start(Start(name: name, body: body), detached: true)
    }

    private static func start(_ start: Start, detached: Bool) throws(IOError) -> pthread_t {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        if detached { pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED)) }

        // Inherited by the new thread, so that not one signal finds it before it has blocked them itself.
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGPROF] { sigdelset(&all, fault) }
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }

        var thread = pthread_t()
        // The new thread takes this reference over; where there is no thread, it is released below.
        let argument = Unmanaged.passRetained(start)
        let result = pthread_create(
            &thread,
            &attributes,
            { argument in
                guard let argument else { return nil }
                let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                pthread_setname_np(pthread_self(), String(start.name.prefix(15)))
                start.body()
                return nil
            },
            argument.toOpaque()
        )
        guard result == 0 else {
            argument.release()
            throw IOError(errno: result, doing: "starting the thread \(start.name)")
        }
        return thread
    }
}

import CarillonIO
import Glibc

/// What started the program as a service and waits for its messages, as systemd does with `Type=notify`: sd_notify(3), without its
/// library.
struct ServiceManager: Sendable {
    /// Nil if nobody waits.
    private let socket: String?
    /// The manager kills a program from which it hears nothing for so long; nil if it does not.
    let watchdog: Duration?
    private let log: Log

    init(environment: [String: String], log: Log) {
        socket = environment["NOTIFY_SOCKET"].flatMap { $0.isEmpty ? nil : $0 }
        let isMeant = environment["WATCHDOG_PID"].map { $0 == String(getpid()) } ?? true
        watchdog = environment["WATCHDOG_USEC"].flatMap(Int64.init).flatMap { microseconds in
            isMeant && microseconds > 0 ? .microseconds(microseconds) : nil
        }
        self.log = log
    }

    func tellReady() { tell("READY=1") }

    func tellStopping() { tell("STOPPING=1") }

    /// Tells the manager, until the body ends, that the loop runs: twice in the time that it allows. A loop that is stuck sends
    /// nothing.
    func watching<R>(_ loop: EventLoop, _ body: () async throws -> R) async throws -> R {
        guard socket != nil, let watchdog else { return try await body() }
        let pulse = Task {
            while (try? await loop.sleep(for: watchdog / 2)) != nil { tell("WATCHDOG=1") }
        }
        return try await Cleanup.after(
            {
                pulse.cancel()
                await pulse.value
            },
            body
        )
    }

    private func tell(_ state: String) {
        guard let socket else { return }
        do {
            try Datagram.send(state, to: socket)
        } catch {
            log.warning("The service manager could not be told.", ["state": state, "error": error.message])
        }
    }
}

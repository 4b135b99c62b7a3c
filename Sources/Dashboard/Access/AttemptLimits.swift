import CarillonIO
import CarillonText
import CarillonWeb
import Glibc

/// Limits password guesses, so that nobody guesses many passwords, and nobody's guesses keep others from logging in.
///
/// Each address may guess a few times, and so may all unknown browsers together. What an attacker with many addresses cannot use up
/// are the guesses of browsers that have logged in before, and those of the machine itself.
struct AttemptLimits: Sendable {
    /// Whose guess an attempt is.
    enum Source: Hashable, Sendable {
        /// Browsers that have logged in since the start, as operators or as readers. They share a limit: whoever knows the readers'
        /// password must not get more guesses at the operators' password with each login.
        case known(mayChange: Bool)
        /// A client on this machine that no proxy names another address for.
        case machine
        /// An IPv4 address, or the /64 network of an IPv6 address, all of which one person may have.
        case address(String)

        var isStranger: Bool { if case .address = self { true } else { false } }
    }

    private var limits: [Source: AttemptLimit] = [:]
    private var strangers = AttemptLimit(atOnce: 20, interval: .seconds(1))

    /// Returns false if too many attempts were made. A refused attempt does not count.
    mutating func attempt(from source: Source, at now: MonotonicInstant) -> Bool {
        limits = limits.filter { !$0.value.isUnused(at: now) }
        var limit = limits[source] ?? AttemptLimit()
        guard limit.attempt(at: now), !source.isStranger || strangers.attempt(at: now) else { return false }
        limits[source] = limit
        return true
    }

    /// The password was right, so this attempt was not a guess.
    mutating func succeeded(from source: Source) {
        limits[source]?.succeeded()
        if source.isStranger { strangers.succeeded() }
    }

    /// - Parameter known: whether the request comes from a browser that has logged in before, and with which right.
    static func source(of request: Request, known: Bool?) -> Source {
        if let mayChange = known { return .known(mayChange: mayChange) }
        guard let peer = request.peer else { return .machine }
        guard Address.isLoopback(peer) else { return .address(network(of: peer)) }
        // A proxy on this machine adds the address of its client at the end.
        let forwarded = request.header("X-Forwarded-For")?.split(separator: ",").last
        return forwarded.map { .address(network(of: String($0.trimmingPrefix { $0 == " " }))) } ?? .machine
    }

    private static func network(of address: String) -> String {
        var bytes = in6_addr()
        guard inet_pton(AF_INET6, address, &bytes) == 1, ProxyTrust.address(address)?.contains(":") == true else {
            return address
        }
        return withUnsafeBytes(of: &bytes) { Array($0.prefix(8)) }.hexadecimal
    }
}

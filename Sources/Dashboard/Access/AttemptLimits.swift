import CarillonIO
import CarillonText
import CarillonWeb
import Glibc

/// Limits password guesses, so that nobody guesses many passwords, and nobody's guesses keep others from logging in.
///
/// Each address may guess a few times, and so may the browsers that have logged in from it, as readers or as operators, and all
/// strangers, all known readers and all known operators together: nobody gets more guesses at the operators' password by logging in
/// as a reader again and again. An attacker with many addresses uses up the guesses of strangers, but not those of known browsers
/// and of the machine itself.
struct AttemptLimits: Sendable {
    /// Whose guess an attempt is.
    enum Source: Hashable, Sendable {
        /// The browsers that have logged in since the start from one address, and with which right.
        case known(id: String, mayChange: Bool)
        /// A client on this machine, not through a proxy that says for whom it asks.
        case machine
        /// An IPv4 address, or the /64 network of an IPv6 address, all of which one person may have.
        case address(String)

        fileprivate var crowd: Crowd? {
            switch self {
            case .known(_, let mayChange): mayChange ? .operators : .readers
            case .machine: nil
            case .address: .strangers
            }
        }
    }

    fileprivate enum Crowd { case strangers, readers, operators }

    private var sources: [Source: AttemptLimit] = [:]
    private var crowds: [Crowd: AttemptLimit] = [:]

    /// Returns false if too many attempts were made. A refused attempt does not count.
    mutating func attempt(from source: Source, at now: MonotonicInstant) -> Bool {
        sources = sources.filter { !$0.value.isUnused(at: now) }
        var own = sources[source] ?? AttemptLimit()
        guard own.attempt(at: now) else { return false }
        if let crowd = source.crowd {
            var all = crowds[crowd] ?? AttemptLimit(atOnce: 20, interval: .seconds(1))
            guard all.attempt(at: now) else { return false }
            crowds[crowd] = all
        }
        sources[source] = own
        return true
    }

    /// The password was right, so this attempt was not a guess.
    mutating func succeeded(from source: Source) {
        sources[source]?.succeeded()
        if let crowd = source.crowd { crowds[crowd]?.succeeded() }
    }

    /// - Parameters:
    ///   - known: Where the browser has logged in before, and with which right; nil if it has not.
    ///   - proxy: The proxy that is trusted to name its clients.
    static func source(of request: Request, known: (id: String, mayChange: Bool)?, proxy: ProxyTrust?) -> Source {
        if let known { return .known(id: known.id, mayChange: known.mayChange) }
        guard let peer = request.peer else { return .machine }
        if let proxy, proxy.isProxy(request) { return .address(network(of: proxy.client(of: request) ?? peer)) }
        // All clients of a proxy that nobody has named count as one, but not as this machine.
        let isOfMachine = Address.isLoopback(peer) && request.header(ProxyTrust.clientHeader) == nil
        return isOfMachine ? .machine : .address(network(of: peer))
    }

    private static func network(of address: String) -> String {
        var bytes = in6_addr()
        guard inet_pton(AF_INET6, address, &bytes) == 1, ProxyTrust.address(address)?.contains(":") == true else {
            return address
        }
        return withUnsafeBytes(of: &bytes) { Array($0.prefix(8)) }.hexadecimal
    }
}

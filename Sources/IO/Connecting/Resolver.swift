import Glibc

/// Looks up the addresses of a name, without caching and never on a loop: the C library's resolver cannot be interrupted, and
/// blocks for many seconds when name servers do not answer.
///
/// Each look-up has its own short-lived thread, so a dead name server delays only the look-ups that need it. Beyond a limit,
/// look-ups queue. The threads are not joined, so that a program can end without waiting for a name server.
enum Resolver {
    typealias Lookup = Swift::Result<[SocketAddress], IOError>

    private struct LookUp: Sendable {
        let host: String
        let port: UInt16
        let answered: @Sendable (Lookup) -> Void
    }

    private struct State {
        var threads = 0
        var waiting: [LookUp] = []
    }

    private static let limit = 32
    private static let state = Guarded(State())

    /// Calls `answered` on the look-up's thread, or immediately on the caller's thread if the address is numeric.
    static func lookUp(_ host: String, port: UInt16, answered: @escaping @Sendable (Lookup) -> Void) {
        let numeric = ask(host, port, flags: AI_NUMERICHOST)
        if case .success = numeric { return answered(numeric) }
        let lookUp = LookUp(host: host, port: port, answered: answered)
        let mustStart = state.withLock { state in
            if state.threads == limit {
                state.waiting.append(lookUp)
                return false
            }
            state.threads += 1
            return true
        }
        guard mustStart else { return }
        do {
            try Thread.detach(name: "resolver") { work(startingWith: lookUp) }
        } catch {
            state.withLock { $0.threads -= 1 }
            answered(.failure(error))
        }
    }

    /// Blocks, so it must not be called on a loop.
    static func lookUpNow(_ host: String, port: UInt16) throws(IOError) -> [SocketAddress] {
        try ask(host, port, flags: AI_PASSIVE).get()
    }

    private static func work(startingWith first: LookUp) {
        var next: LookUp? = first
        while let lookUp = next {
            lookUp.answered(ask(lookUp.host, lookUp.port, flags: 0))
            next = state.withLock { state in
                if state.waiting.isEmpty {
                    state.threads -= 1
                    return nil
                }
                return state.waiting.removeFirst()
            }
        }
    }

    private static func ask(_ host: String, _ port: UInt16, flags: CInt) -> Lookup {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Socket.streamType
        hints.ai_flags = flags | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        guard !bare.isEmpty, !bare.utf8.contains(0) else {
            return .failure(IOError(.unresolvable, "a host's name is missing: give a name or an address"))
        }
        let result = getaddrinfo(bare, String(port), &hints, &list)
        guard result == 0 else {
            // The C library calls a name unknown if it cannot open its files or sockets.
            let number = result == EAI_SYSTEM ? errno : result == EAI_MEMORY ? ENOMEM : IOError.shortageOfLookup ?? 0
            guard IOError.advice(onShortage: number) == nil else {
                return .failure(IOError(errno: number, doing: "looking up the host name \(host)"))
            }
            let reason = number == 0 ? String(cString: gai_strerror(result)) : IOError.text(of: number)
            let advice =
                result == EAI_AGAIN
                ? "the name servers do not answer; check this machine's DNS and try again"
                : "check its spelling and this machine's DNS"
            return .failure(IOError(.unresolvable, "the host name \(host) has no address (\(reason)): \(advice)"))
        }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var entry = list
        while let current = entry?.pointee {
            if let address = current.ai_addr {
                addresses.append(SocketAddress(copying: address, length: current.ai_addrlen))
            }
            entry = current.ai_next
        }
        return .success(addresses)
    }
}

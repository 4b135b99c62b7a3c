import CarillonIO

/// The connections of a backend to channel services. Requests are rare, so a connection carries one at a time and is kept for the
/// next request.
final class ChannelConnections: Sendable {
    private struct State {
        var idle: [ConnectionPools.Key: [ChannelConnection]] = [:]
        var isShutDown = false
    }

    private let configuration: HTTP2Configuration
    private let pools: ConnectionPools
    private let state = Guarded(State())

    /// - Parameter pools: The backend's pools, whose loops it uses.
    init(_ configuration: HTTP2Configuration, beside pools: ConnectionPools) {
        self.configuration = configuration
        self.pools = pools
    }

    /// A request that was certainly not processed is repeated once on another connection. So is a request whose provider token was
    /// too old or whose app the connection does not know.
    func ask(
        _ request: ChannelRequest,
        of gateway: Gateway,
        with credential: Credential
    ) async throws(ChannelError) -> ChannelRequest.Answer {
        let key = ConnectionPools.Key(gateway, credential)
        var refused: ProviderToken?
        var isRepeated = false
        while true {
            let token: ProviderToken?
            let connection: ChannelConnection
            do throws(PushError) {
                token = try await credential.providerToken(refusing: refused)
                connection = try await usableConnection(key, gateway, credential)
            } catch {
                throw ChannelError(.unsent, error.message, underlying: error)
            }
            let wasUsed = await connection.isUsed
            let ending = await connection.ask(request, with: token)
            switch ending {
            case .answered(.success(let answer)):
                await returnConnection(connection, key)
                return answer
            case .answered(.failure(let error)):
                guard error.asksForAnotherConnection else {
                    await returnConnection(connection, key)
                    throw error
                }
                await connection.close()
                let isOld = error.reason == "ExpiredProviderToken"
                guard !isRepeated, isOld ? token != nil : wasUsed else { throw error }
                if isOld { refused = token }
            case .unsent(let error):
                await connection.close()
                guard !isRepeated else { throw error }
            case .unknown(let error):
                await connection.close()
                throw error
            }
            isRepeated = true
        }
    }

    private func usableConnection(
        _ key: ConnectionPools.Key,
        _ gateway: Gateway,
        _ credential: Credential
    ) async throws(PushError) -> ChannelConnection {
        while let connection = state.withLock({ $0.idle[key]?.popLast() }) {
            if await connection.isUsable() { return connection }
            await connection.close()
        }
        let loop = try pools.loop()
        return try await ChannelConnection.open(to: gateway, with: credential, configuration, on: loop, of: pools)
    }

    private func returnConnection(_ connection: ChannelConnection, _ key: ConnectionPools.Key) async {
        let isKept = state.withLock { state in
            if !state.isShutDown { state.idle[key, default: []].append(connection) }
            return !state.isShutDown
        }
        if !isKept { await connection.close() }
    }

    /// Closes connections that have been idle for longer than this.
    func outdate(idle: Duration) async {
        let all = state.withLock { state in
            defer { state.idle = [:] }
            return state.idle
        }
        for (key, connections) in all {
            for connection in connections {
                if MonotonicInstant.now - (await connection.idleSince) > idle {
                    await connection.close()
                } else {
                    await returnConnection(connection, key)
                }
            }
        }
    }

    /// Closes the idle connections of a credential.
    func outdate(credential: Credential) async {
        let old = state.withLock { state in
            let keys = state.idle.keys.filter { $0.credential == credential.digest }
            return keys.flatMap { state.idle.removeValue(forKey: $0) ?? [] }
        }
        for connection in old { await connection.close() }
    }

    /// Closes every connection. None can be opened afterwards, because the pools no longer supply a loop.
    func shutdown() async {
        let all = state.withLock { state in
            state.isShutDown = true
            defer { state.idle = [:] }
            return state.idle.values.flatMap(\.self)
        }
        for connection in all { await connection.close() }
    }
}

extension ChannelError {
    /// Whether, according to the table of reasons, the request needs another connection.
    fileprivate var asksForAnotherConnection: Bool {
        guard let reason, let known = Reason(name: reason) else { return false }
        return switch known.action(status: UInt16(clamping: status)) {
        case .replaceConnection, .renewProviderToken, .failTopic: true
        case .keepProviderToken, .holdCredential: true
        default: false
        }
    }
}

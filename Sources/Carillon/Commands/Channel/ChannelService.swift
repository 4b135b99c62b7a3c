import ApplePush
import CarillonIO
import CarillonPostgres
import CarillonPushQueue

/// Apple's channel service for one app, for the duration of a command.
struct ChannelService {
    let site: ChannelSite
    let backend: HTTP2Backend

    static func with<R>(
        _ app: String,
        on connection: PostgresConnection,
        _ body: (ChannelService) async throws -> R
    ) async throws -> R {
        let row = try await AppStore(connection).find(app)
        let site: ChannelSite
        switch try await ChannelSite.read([row.id], on: connection)[row.id] {
        case .success(let found): site = found
        case .failure(let hold): throw CommandError(.configuration, hold.message)
        case nil: throw CommandError(.failed, "There is no app named \(app).")
        }
        let backend = HTTP2Backend()
        return try await Cleanup.after({ await backend.shutdown() }) {
            try await body(ChannelService(site: site, backend: backend))
        }
    }

    func ask(_ action: ChannelRequest.Action) async throws -> ChannelRequest.Answer {
        switch await site.ask(action, through: backend) {
        case .success(let answer): return answer
        case .failure(let error): throw CommandError(error)
        }
    }
}

extension CommandError {
    init(_ error: ChannelError) {
        self.init(error.code == .refused ? .failed : .unavailable, error.message)
    }
}

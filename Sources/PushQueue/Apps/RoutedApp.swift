import ApplePush
package import CarillonPostgres

/// An app as a worker uses it. It is a class, so that a look at many lanes does not copy the row of each app.
package final class RoutedApp: Sendable {
    package let row: App
    /// Its route, or why it cannot send.
    package let route: Result<App.Route, Hold>
    /// Where pushes in the other environment go; nil if the app has only its own.
    let otherGateway: Gateway?
    /// When the text of its credential was written.
    let credentialSince: Int64?
    private let topic: [UInt8]

    init(
        _ row: App,
        _ route: Result<App.Route, Hold>,
        otherGateway: Gateway? = nil,
        credentialSince: Int64? = nil
    ) {
        self.row = row
        self.route = route
        self.otherGateway = otherGateway
        self.credentialSince = credentialSince
        topic = Array((row.settings.topic ?? "").utf8)
    }

    package var name: String { row.name }

    /// The route of the jobs of a lane; nil if the app cannot send.
    func route(in lane: Lane) -> App.Route? {
        guard case .success(let route) = route else { return nil }
        guard lane.isAway, let otherGateway else { return route }
        return App.Route(gateway: otherGateway, credential: route.credential)
    }

    /// All routes of its jobs.
    package var routes: Set<App.Route> {
        Set([1, 11].compactMap { route(in: Lane(app: row.id, number: $0)) })
    }

    func sends(with credential: Credential) -> Bool { (try? route.get())?.credential == credential }

    /// The topic of messages that name none. Apple derives it from the bundle ID and the push type.
    func topic(for pushType: PushType?) -> [UInt8] {
        guard let pushType, pushType != .alert else { return topic }
        return pushType.topic(of: topic)
    }

    private static let ids = Statement("route_apps", "SELECT a.id FROM carillon.apps a ORDER BY a.name")

    /// Every app, by name, as a worker would find it.
    package static func all(on connection: PostgresConnection) async throws -> [RoutedApp] {
        let ids: [Int32] = try await connection.values(of: Self.ids)
        var directory = AppDirectory()
        _ = directory.read(
            try await connection.values(of: AppWithSecret.statement, directory.parameters(for: ids)),
            of: ids
        )
        return ids.compactMap { directory[$0] }
    }
}

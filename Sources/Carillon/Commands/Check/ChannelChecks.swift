import ApplePush
import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import CarillonText

/// Finds channels that Apple refuses to create or no longer has, and checks that the channel service of each app with channels can
/// be reached. Sends Apple no request.
struct ChannelChecks {
    let connection: PostgresConnection
    let loop: EventLoop

    /// A summary of the channels of an app.
    private struct Channels: Decodable, Sendable {
        let appID: Int32
        let name: String
        /// How many are `failed` or `missing`.
        let broken: Int64
        /// The first of those, with its error.
        let reference: String?
        let error: String?
    }

    private static let channels = Statement(
        "check_channels",
        """
        SELECT c.app_id, a.name, count(b.reference) AS broken, min(b.reference) AS reference,
            (array_agg(b.last_error ORDER BY b.reference))[1] AS error
        FROM carillon.channels c JOIN carillon.apps a ON a.id = c.app_id
        LEFT JOIN carillon.channels b ON (b.app_id, b.reference) = (c.app_id, c.reference) AND b.state IN ('failed', 'missing')
        GROUP BY c.app_id, a.name ORDER BY a.name
        """
    )

    func run() async throws -> [CheckLine] {
        let apps: [Channels] = try await connection.values(of: Self.channels)
        let sites = try await ChannelSite.read(apps.map(\.appID), on: connection)
        var lines = apps.compactMap(Self.line)
        for app in apps {
            if let site = sites[app.appID] { lines.append(await check(site, of: app.name)) }
        }
        return lines
    }

    private static func line(_ app: Channels) -> CheckLine? {
        guard let reference = app.reference else { return nil }
        let others = app.broken > 1 ? " and \(Counted.text(app.broken - 1, "other"))" : ""
        let reason = app.error.map { ": \($0)" } ?? "."
        return .warning(
            "The channel '\(reference)'\(others) of the app \(app.name) cannot be published to\(reason)".asSentence,
            remedy:
                "Fix that, and request it again; 'carillon channel list --app \(app.name.shellQuoted)' lists all of them."
        )
    }

    private func check(_ site: Result<ChannelSite, Hold>, of app: String) async -> CheckLine {
        let gateway: Gateway
        do {
            let site = try site.get()
            gateway = site.gateway
            _ = try await GatewayProbe.run(gateway, with: site.credential, on: loop)
        } catch let hold as Hold {
            return .failed(
                "The channels of the app \(app) cannot be managed: \(hold.message)".asSentence,
                remedy:
                    "Change it: 'carillon app set \(app.shellQuoted)' takes --channel-gateway and all other settings."
            )
        } catch {
            let found = CommandError(explaining: error)
            return .failed(
                "\(found.sentence) (the channel service of \(app))",
                remedy:
                    "Check the host, the port, and any firewall between: TCP to port 2196 must be open, for the "
                    + "sandbox 2195.",
                found.status
            )
        }
        return .ok("The channel service \(gateway) speaks HTTP/2 over TLS (\(app)).")
    }
}

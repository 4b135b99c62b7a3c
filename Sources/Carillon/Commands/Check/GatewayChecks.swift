import ApplePush
import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import CarillonText

/// Checks that the gateway of each app can be reached and trusted with the app's credential. Sends nothing.
struct GatewayChecks {
    let connection: PostgresConnection
    let loop: EventLoop

    func run() async throws -> [CheckLine] {
        let apps = try await RoutedApp.all(on: connection)
        var routes: [App.Route: [String]] = [:]
        for app in apps {
            for route in app.routes { routes[route, default: []].append(app.name) }
        }
        // Apps with the same gateway and credential share one check.
        let checks = routes.sorted { ($0.value.first ?? "") < ($1.value.first ?? "") }
        return await CheckLine.of("app") { Self.unusable(apps) }
            + checks.mapAtOnce { await check($0.key, for: $0.value) }
    }

    /// Apps that have no route.
    private static func unusable(_ apps: [RoutedApp]) -> [CheckLine] {
        apps.compactMap { app -> CheckLine? in
            guard case .failure(let hold) = app.route else { return nil }
            return .failed("\(app.name): \(hold.message)", remedy: remedy(of: hold, app.name))
        }
    }

    private func check(_ route: App.Route, for apps: [String]) async -> CheckLine {
        let names = apps.count > 3 ? "\(apps[0]) and \(apps.count - 1) more apps" : apps.joined(separator: ", ")
        do throws(PushError) {
            let took = try await GatewayProbe.run(route.gateway, with: route.credential, on: loop)
            let milliseconds = took.nanoseconds / 1_000_000
            let spoken = route.gateway.transport == .http2 ? "HTTP/2 over TLS" : "TLS"
            return .ok("\(route.gateway) speaks \(spoken), in \(milliseconds) ms (\(names)).")
        } catch {
            let found = CommandError(explaining: error)
            return .failed("\(found.sentence) (\(names))", remedy: Self.remedy(of: error), found.status)
        }
    }

    private static func remedy(of hold: Hold, _ app: String) -> String {
        switch hold.kind {
        case .credential: "Import the credential again: 'carillon credential import'."
        case .setting, .connection, .providerToken, .tokenUpdates, .database:
            "Change it: 'carillon app set \(app.shellQuoted)' takes --credential, --gateway and all other settings."
        }
    }

    private static func remedy(of error: PushError) -> String {
        switch error.code {
        case .untrusted:
            "Its certificate was not issued by an authority that this machine trusts: is it the right host? A private gateway needs gateway_ca."
        case .refused: "The gateway refuses the credential: import one that is valid."
        case .notHTTP2: "Something else answers there: check the host, the port, and any proxy between."
        default: "Check the host, the port, and any firewall between: TCP to port 443 or 2197 must be open."
        }
    }
}

import CarillonIO
import CarillonText

extension Command {
    static let metricsSetToken = Command(
        "metrics set-token",
        roles: [],
        summary: "Store the token with which 'metrics fetch' asks Apple for the metrics of an app.",
        discussion: """
            Apple's CloudKit console makes a data export token for one bundle ID and the dataset Delivery Metrics, for at most six
            months. Like a credential, it is stored in the database and appears in no log; 'carillon check' warns before it
            expires. It replaces the app's earlier one.
            """,
        arguments: [Argument("APP", "The app.")],
        required: [.exportToken, .expires],
        options: [.teamID.help("Apple's ID of your team; by default, that of the app's signing key."), .database],
        examples: ["carillon metrics set-token acme --export-token-file token.txt --expires 2027-05-30"],
        run: { invocation in
            let settings = invocation.settings
            let token = settings.required(.exportToken).trimmed
            guard let end = DayText.read(Array(settings.required(.expires).utf8)[...]), end > WallClock.microseconds
            else { throw UsageError("--expires takes a day to come, such as 2027-05-30.") }
            guard !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw UsageError("--export-token-file names a file with something else than a token.")
            }
            let team = settings.text(.teamID)
            if let team { try CredentialFile.check(team, "--team-id") }
            try await DatabaseScope.with(invocation) { connection, _ in
                let store = MetricsStore(connection: connection)
                try await store.save(token, of: invocation.name, team: team, end: end)
            }
            invocation.console.print("Stored the export token of \(invocation.name), until \(TimeText.day(end)).")
            return .done
        }
    )

    static let metricsRemoveToken = Command(
        "metrics remove-token",
        roles: [],
        summary: "Remove the token with which 'metrics fetch' asks Apple for the metrics of an app.",
        discussion: "What was fetched stays. Apple's console revokes the token.",
        arguments: [Argument("APP", "The app.")],
        options: [.database],
        run: { invocation in
            let isRemoved = try await DatabaseScope.with(invocation) { connection, _ in
                try await MetricsStore(connection: connection).removeToken(of: invocation.name)
            }
            guard isRemoved else { throw CommandError(.failed, "The app \(invocation.name) has no export token.") }
            invocation.console.print("Removed the export token of \(invocation.name).")
            return .done
        }
    )
}

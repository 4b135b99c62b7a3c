import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import FoundationEssentials

/// Everything that `carillon try` starts, and removes at its end.
struct TryRun: Sendable {
    static let app = "try"

    let invocation: Invocation
    let loop: EventLoop

    private var console: Console { invocation.console }

    /// Returns when it is interrupted, which is its normal end.
    func run() async throws -> ExitStatus {
        var configuration = SimulatorConfiguration()
        configuration.channelPort = 0
        configuration.answers = try (invocation.settings.texts(.answer) + PrivateServers.answers).map(
            AnswerRule.init(parsing:)
        )
        let output = console
        let usualTopic = DemoDatabase.topic(of: Self.app)
        configuration.observer = { event in
            switch event {
            case .answered(let delivery): output.print(delivery.line(usualTopic: usualTopic))
            case .received(let delivery) where delivery.status == nil:
                output.print(delivery.line(usualTopic: usualTopic))
            case .received: break
            }
        }
        let servers = PrivateServers(configuration: configuration, console: console, loop: loop)
        return try await servers.run { try await play($0, $1) }
    }

    private func play(_ url: String, _ gateway: APNsSimulator) async throws {
        try await DatabaseScope.with(DatabaseSource(url), on: loop, application: "carillon try") { connection in
            // Only a signing key may send every push type: Apple takes no certificate for Live Activities and locations.
            let key = try CredentialText(
                privateKey: APNsSimulator.makeSigningKey(),
                keyID: "TRYTRYTRY1",
                teamID: "TRYTRYTRY2"
            )
            try await DemoDatabase(connection: connection).prepare(gateway, app: Self.app, credential: key)
            let workers = try DemoWorkers(count: 1, database: url, name: Self.app, isCounted: false, console: console)
            let messages = EndedMessages(connection: connection)
            try await Cleanup.after({ await end(workers, messages) }) {
                invite(url)
                try await messages.tell(every: .milliseconds(200), on: loop) { console.print($0) }
            }
        }
    }

    private func end(_ workers: DemoWorkers, _ messages: EndedMessages) async {
        var hold: String?
        do {
            hold = try await messages.holds()
        } catch {
            console.note("The reasons why pushes wait could not be read: \(error)")
        }
        await workers.end()
        do {
            if let left = try await messages.left(becauseOf: hold) { console.note(left) }
        } catch {
            console.note("The messages that have not ended could not be read: \(error)")
        }
    }

    private func invite(_ url: String) {
        let token = String(repeating: "9f1c2ab7", count: 8)
        console.print(
            """
            In another terminal, connect:
              psql '\(url)'
            and paste:
              SELECT carillon.enqueue('\(Self.app)', ARRAY['\(token)'], alert => 'Your table is ready', badge => 1);

            Make up tokens of 64 hexadecimal digits.
            \(PrivateServers.answersText).
            Other commands work too:
              carillon status --database '\(url)'
            Ctrl-C stops everything.

            """
        )
    }
}

import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import CarillonText
import CarillonWeb

extension Command {
    static let demo = Command(
        "demo",
        summary: "Demonstrate Carillon with a private PostgreSQL, a simulator of APNs and two workers.",
        discussion:
            "Starts everything it needs and stops it at the end. It enqueues pushes to a mix of good, dead and "
            + "throttled tokens, sends them, runs a feedback pass, and compares what PostgreSQL has recorded with "
            + "what the gateway received. Exits with 0 when the two agree. With --web, it serves a dashboard with "
            + "apps, traffic, failures and a broadcast to explore, until Ctrl-C.",
        options: [.messages, .json, .withWeb, .webAddress],
        examples: ["carillon demo", "carillon demo --messages 100000", "carillon demo --web"],
        run: { invocation in
            try await LoopScope.with { loop in
                if invocation.settings.isOn(.withWeb) { return try await play(invocation, on: loop) }
                return try await Interruption.cancelling(on: loop) {
                    try await Demonstration(
                        plan: DemoPlan(messages: invocation.settings.count(.messages)),
                        console: invocation.console,
                        wantsJSON: invocation.settings.isOn(.json),
                        loop: loop
                    ).run()
                }
            }
        }
    )
}

extension Command {
    private static func play(_ invocation: Invocation, on loop: EventLoop) async throws -> ExitStatus {
        guard let address = invocation.settings.address(.webAddress) else {
            preconditionFailure("--web-http has a default")
        }
        guard Address.isLoopback(address.host) else {
            throw UsageError("--web-http of the demonstration is an address of this machine, such as 127.0.0.1:9465.")
        }
        return try await Interruption.cancelling(on: loop) {
            try await Playground(address: address, console: invocation.console, loop: loop).run()
        }
    }
}

/// The demonstration: starts everything, runs it, and removes it.
struct Demonstration: Sendable {
    let plan: DemoPlan
    let console: Console
    let wantsJSON: Bool
    let loop: EventLoop

    func run() async throws -> ExitStatus {
        let start = MonotonicInstant.now
        say("Starting a private PostgreSQL ...")
        let cluster = try await PrivateCluster.start(.fast, on: loop)
        let audit = try await Cleanup.after({ await cluster.stop() }) {
            say("PostgreSQL runs in \(cluster.folder).")
            return try await withGateway(cluster.url())
        }
        let elapsed = MonotonicInstant.now - start
        if wantsJSON { console.print(json: audit.json) } else { console.output.write(audit.text(for: console.output)) }
        say("It took \(elapsed.inSeconds) s in all, and what was started has been stopped.")
        return audit.holds ? .done : .failed
    }

    private func withGateway(_ url: String) async throws -> DemoAudit {
        var configuration = SimulatorConfiguration()
        configuration.recordsDeliveries = true
        configuration.answers = try plan.answers()
        let gateway = try APNsSimulator(configuration)
        try await gateway.start()
        return try await Cleanup.after({ await gateway.stop() }) {
            say("A simulator of APNs listens at localhost:\(gateway.port).")
            return try await DatabaseScope.with(url, on: loop, application: "carillon demo") { connection in
                try await send(DemoDatabase(connection: connection), url, gateway)
            }
        }
    }

    private func send(_ database: DemoDatabase, _ url: String, _ gateway: APNsSimulator) async throws -> DemoAudit {
        let certificate = try DemoDatabase.certificate(for: DemoDatabase.app, of: gateway)
        try await database.prepare(gateway, app: DemoDatabase.app, credential: certificate)
        let rows = try await database.enqueue(plan)
        say(
            "\(plan.messages.grouped) pushes are enqueued: \(rows.single.grouped) rows of one token, "
                + "\(rows.lists.grouped) of up to \(DemoDatabase.tokensPerList)."
        )
        say("Two workers are sending ...")
        let fleet = try DemoFleet(workers: 2, database: url, name: "demo", isCounted: true, console: console)
        let begin = MonotonicInstant.now
        let progress = ProgressLine(console.errors)
        let ended = try await Cleanup.after({ await fleet.end() }) {
            defer { progress.clear() }
            return try await fleet.waitUntilEnded(plan.messages, on: loop) { counters in
                progress.show(line(counters, since: begin))
            }
        }
        let elapsed = MonotonicInstant.now - begin
        let perSecond = Double(plan.messages) / max(elapsed.seconds, 0.001)
        say("They are through after \(elapsed.inSeconds) s: \(Int(perSecond).grouped) pushes a second.")
        var ledger = try await database.ledger()
        ledger.retried = ended.retried
        var sightings = DemoAudit.Sightings()
        for delivery in await gateway.deliveries() { sightings.add(delivery.token, status: delivery.status ?? 0) }
        return DemoAudit(plan: plan, ledger: ledger, sightings: sightings)
    }

    private func line(_ counters: DemoFleet.Totals, since begin: MonotonicInstant) -> String {
        let ended = counters.sent + counters.failed
        let elapsed = (MonotonicInstant.now - begin).seconds
        let share = ended * 100 / max(plan.messages, 1)
        return "\(share) %  sent \(counters.sent.grouped)  failed \(counters.failed.grouped)  "
            + "retried \(counters.retried.grouped)  of \(plan.messages.grouped)  "
            + "\(Int(Double(ended) / max(elapsed, 0.001)).grouped)/s"
    }

    private func say(_ line: String) {
        if !wantsJSON { console.print(line) }
    }
}

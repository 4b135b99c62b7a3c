import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import CarillonText

/// A run of `carillon demo`: starts everything, sends the pushes of the plan, compares, and removes everything.
struct DemoRun: Sendable {
    let plan: DemoPlan
    let console: Console
    let wantsJSON: Bool
    let loop: EventLoop

    func run() async throws -> ExitStatus {
        let start = MonotonicInstant.now
        var configuration = SimulatorConfiguration()
        configuration.recordsRequests = true
        configuration.answers = try plan.answers()
        say("Starting a private PostgreSQL ...")
        let servers = PrivateServers(configuration: configuration, console: console, loop: loop)
        let audit = try await servers.with { cluster, gateway in
            say("PostgreSQL runs in \(cluster.folder).")
            say("A simulator of APNs listens at localhost:\(gateway.port).")
            let url = cluster.url()
            let source = DatabaseSource(url)
            return try await DatabaseScope.with(source, on: loop, application: "carillon demo") { connection in
                try await send(DemoDatabase(connection: connection), url, gateway)
            }
        }
        let elapsed = MonotonicInstant.now - start
        if wantsJSON { console.print(json: audit.json) } else { console.output.write(audit.text(for: console.output)) }
        say("It took \(elapsed.secondsText) s in total, and everything that was started has been stopped.")
        return audit.holds ? .done : .failed
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
        let workers = try DemoWorkers(count: 2, database: url, name: "demo", isCounted: true, console: console)
        let begin = MonotonicInstant.now
        let progress = ProgressLine(console.errors)
        let ended = try await Cleanup.after({ await workers.end() }) {
            defer { progress.clear() }
            return try await workers.waitUntilEnded(plan.messages, on: loop) { counters in
                progress.show(line(counters, since: begin))
            }
        }
        let elapsed = MonotonicInstant.now - begin
        let perSecond = Double(plan.messages) / max(elapsed.seconds, 0.001)
        say("They finished after \(elapsed.secondsText) s: \(Int(perSecond).grouped) pushes a second.")
        var recorded = try await database.recorded()
        recorded.retried = ended.retried
        var answered = DemoAudit.Answered()
        for delivery in await gateway.receivedRequests() { answered.add(delivery.token, status: delivery.status ?? 0) }
        return DemoAudit(plan: plan, recorded: recorded, answered: answered)
    }

    private func line(_ counters: Settlement.Tally, since begin: MonotonicInstant) -> String {
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

import CarillonIO
import CarillonWeb

extension Command {
    static let demo = Command(
        "demo",
        roles: [],
        summary: "Demonstrate Carillon with a private PostgreSQL, a simulator of APNs and two workers.",
        discussion:
            "Starts everything it needs and stops it at the end. It enqueues pushes to a mix of good, dead and "
            + "throttled tokens, sends them, runs a feedback pass, and compares what PostgreSQL has recorded with "
            + "what the gateway received. Exits with 0 when the two agree. With --web, it serves a dashboard with "
            + "apps, traffic, failures and a broadcast to explore, until Ctrl-C.",
        options: [.messages, .json, .withWeb, .webAddress],
        examples: ["carillon demo", "carillon demo --messages 100000", "carillon demo --web"],
        run: { invocation in
            try await EventLoop.with(name: "command") { loop in
                if invocation.settings.isOn(.withWeb) { return try await play(invocation, on: loop) }
                return try await Interruption.cancelling(on: loop) {
                    try await DemoRun(
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
            try await WebDemo(address: address, console: invocation.console, loop: loop).run()
        }
    }
}

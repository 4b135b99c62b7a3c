extension Command {
    static let demo = Command(
        "demo",
        summary: "Demonstrate Carillon on this machine: a private PostgreSQL, a stand-in for APNs, two workers.",
        discussion: "Needs nothing running and leaves nothing behind. It enqueues pushes to a mix of good, dead and "
            + "throttled tokens, sends them, runs the feedback pass, and compares what PostgreSQL records with what the "
            + "gateway received. Ends with 0 when the two agree.",
        options: [.messages, .json],
        examples: ["carillon demo", "carillon demo --messages 100000"],
        run: { invocation in
            try await LoopScope.with { loop in
                try await Interruption.cancelling(on: loop) {
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

extension Command {
    static let tryOut = Command(
        "try",
        summary: "Try it from psql: a database, a stand-in for APNs, an app and a worker, until Ctrl-C.",
        discussion:
            "Needs nothing running and leaves nothing behind. It prints an enqueue to paste into psql, and shows what "
            + "becomes of it: what the gateway was sent, what it answered, and how each message ends. Tokens that begin "
            + "with dead, bad or 503 are answered so; --answer adds rules of your own.",
        options: [.answer],
        examples: ["carillon try", "carillon try --answer 'aa=429:TooManyRequests*2'"],
        run: { invocation in
            try await LoopScope.with { loop in
                try await Interruption.cancelling(on: loop) {
                    try await Tryout(invocation: invocation, loop: loop).run()
                }
            }
        }
    )
}

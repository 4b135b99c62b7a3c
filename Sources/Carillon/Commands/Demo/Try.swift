extension Command {
    static let tryOut = Command(
        "try",
        summary: "Start a database, a stand-in for APNs, an app and a worker to try out from psql.",
        discussion:
            "Needs nothing running and leaves nothing behind; Ctrl-C stops it. It prints an enqueue to paste into psql, and "
            + "then each push that the gateway receives, with its answer, the headers that are not the usual ones, and its "
            + "payload, and the result of each message. Tokens that begin with dead are answered with 410, those with bad "
            + "with 400, and those with 503 with 503, twice; --answer adds your own rules. When it is stopped, it waits two "
            + "seconds for pushes in flight, and says what has not ended.",
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

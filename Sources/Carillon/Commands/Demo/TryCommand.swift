import CarillonIO

extension Command {
    static let tryOut = Command(
        "try",
        roles: [],
        summary: "Start a database, a simulator of APNs, an app and a worker, to try Carillon from psql.",
        discussion:
            "Starts everything it needs, and removes it after Ctrl-C. It prints an enqueue call to paste into "
            + "psql. Then it prints each push that the gateway receives, with its answer, payload and unusual "
            + "headers, and the state of each message. \(PrivateServers.answersText); --answer adds your own rules. "
            + "After Ctrl-C, it waits two seconds for pushes in flight, and prints what has not ended.",
        options: [.answer],
        examples: ["carillon try", "carillon try --answer 'aa=429:TooManyRequests*2'"],
        run: { invocation in
            try await EventLoop.with(name: "command") { loop in
                try await Interruption.cancelling(on: loop) {
                    try await TryRun(invocation: invocation, loop: loop).run()
                }
            }
        }
    )
}

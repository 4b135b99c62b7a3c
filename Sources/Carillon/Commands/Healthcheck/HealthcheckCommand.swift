extension Command {
    static let healthcheck = Command(
        "healthcheck",
        roles: [],
        summary: "Ask a running worker whether it is ready, for container platforms.",
        discussion: "Requests /readyz at the address that the worker's --http names.",
        required: [.http.help("The address of the worker's --http.")],
        exits: [.done: "The worker is ready.", .failed: "It is not ready.", .unavailable: "There is no answer."],
        examples: ["carillon healthcheck --http 127.0.0.1:9464"],
        run: { invocation in
            guard let address = invocation.settings.address(.http) else { return .usage }
            let answer = try await HealthProbe(address: address, timeout: .seconds(3)).ask()
            invocation.console.print(answer.body)
            return answer.status == 200 ? .done : .failed
        }
    )
}

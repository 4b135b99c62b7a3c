extension Command {
    static let man = Command(
        "man",
        roles: [],
        summary: "Print the manual page of the program.",
        examples: ["carillon man | man -l -"],
        run: { invocation in
            invocation.console.output.write(ManualPage(commands: all).text)
            return .done
        }
    )
}

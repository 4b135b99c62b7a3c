/// The exit status of the program. The numbers above 2 are those of sysexits.h.
struct ExitStatus: Equatable, Sendable {
    let code: Int32
    let meaning: String

    static let done = ExitStatus(code: 0, meaning: "done")
    static let failed = ExitStatus(code: 1, meaning: "failed")
    /// The command line is wrong.
    static let usage = ExitStatus(code: 2, meaning: "usage")
    /// Something that is needed, such as the database, cannot be reached.
    static let unavailable = ExitStatus(code: 69, meaning: "service unavailable")
    /// There is not enough memory or address space, or there are too few descriptors or threads.
    static let exhausted = ExitStatus(code: 70, meaning: "out of resources")
    /// It may succeed when it is run again.
    static let tryAgain = ExitStatus(code: 75, meaning: "try again")
    /// It will fail until somebody changes a setting, a credential or the schema.
    static let configuration = ExitStatus(code: 78, meaning: "configuration")

    /// Of several. Problems that somebody must fix come first, then problems that may resolve themselves.
    static func worst(of statuses: [ExitStatus]) -> ExitStatus {
        [.configuration, .unavailable, .tryAgain].first { statuses.contains($0) } ?? statuses.first { $0 != .done }
            ?? .done
    }

    static let all = [done, failed, usage, unavailable, exhausted, tryAgain, configuration]
}

/// How the program ends, for scripts and supervisors; the numbers above 2 are those of sysexits.
struct ExitStatus: Equatable, Sendable {
    let code: Int32

    static let done = ExitStatus(code: 0)
    static let failed = ExitStatus(code: 1)
    /// The command line cannot be followed.
    static let usage = ExitStatus(code: 2)
    /// Something it needs, such as the database, cannot be reached.
    static let unavailable = ExitStatus(code: 69)
    /// It may work when tried again as it is.
    static let tryAgain = ExitStatus(code: 75)
    /// It will not work until somebody changes a setting, a credential or the schema.
    static let configuration = ExitStatus(code: 78)
}

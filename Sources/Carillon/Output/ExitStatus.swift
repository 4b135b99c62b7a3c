/// The exit status of the program. The numbers above 2 are those of sysexits.h.
struct ExitStatus: Equatable, Sendable {
    let code: Int32

    static let done = ExitStatus(code: 0)
    static let failed = ExitStatus(code: 1)
    /// The command line is wrong.
    static let usage = ExitStatus(code: 2)
    /// Something that is needed, such as the database, cannot be reached.
    static let unavailable = ExitStatus(code: 69)
    /// There is not enough memory, or address space.
    static let exhausted = ExitStatus(code: 70)
    /// It may succeed when it is run again.
    static let tryAgain = ExitStatus(code: 75)
    /// It will fail until somebody changes a setting, a credential or the schema.
    static let configuration = ExitStatus(code: 78)
}

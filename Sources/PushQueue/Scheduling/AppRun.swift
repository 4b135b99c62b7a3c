/// Apps whose ids follow each other, all of them paused: looks for rows step over them.
package struct AppRun: Hashable, Sendable {
    let first: Int32
    let last: Int32

    func contains(_ app: Int32) -> Bool { first <= app && app <= last }
}

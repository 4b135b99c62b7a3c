/// How reading an app's list of the legacy feedback service ended.
package struct FeedbackListSummary: Equatable, Sendable {
    package let app: String
    /// Nil: it is not known.
    package let gateway: String?
    /// How many dead tokens the list had. All are in the table.
    package let tokens: Int
    /// Why it could not be read, or broke off.
    package let failure: String?
}

/// What came of reading an app's list of the legacy feedback service.
package struct FeedbackReport: Equatable, Sendable {
    package let app: String
    /// Where; nil: that is not known.
    package let gateway: String?
    /// How many dead tokens it named; all of them are in the table.
    package let tokens: Int
    /// Why it could not be read, or broke off.
    package let failure: String?
}

/// What a gateway answered, as in "503 ServiceUnavailable".
package enum AnswerText {
    /// Leaves out what is nil.
    package static func write(_ status: Int64?, _ reason: String?) -> String {
        [status.map { String($0) }, reason].compactMap(\.self).joined(separator: " ")
    }
}

import CarillonCPostgres
import CarillonText

/// A remark of the server about a statement that has succeeded.
package struct ServerNotice: Sendable {
    package let sqlState: String
    private let message: String
    private let hint: String?

    package var sentence: String { [message.asSentence, hint?.asSentence].compactMap { $0 }.joined(separator: " ") }

    /// Nil if it is for developers or the server's log only.
    init?(_ result: OpaquePointer) {
        func field(_ code: Unicode.Scalar) -> String? {
            PQresultErrorField(result, CInt(code.value)).map { String(cString: $0) }
        }
        // The untranslated severity.
        guard let severity = field("V"), ["NOTICE", "WARNING"].contains(severity), let message = field("M") else {
            return nil
        }
        sqlState = field("C") ?? ""
        self.message = message
        hint = field("H")
    }
}

import CarillonPostgres
package import CarillonText
import FoundationEssentials

/// How many pushes of a message have ended, by outcome.
package struct EndedPushes: Decodable, Sendable {
    package let sent: Int
    package let failed: Int
    package let expired: Int
    package let cancelled: Int

    /// For example "1 sent" and "2 failed".
    package var texts: [String] { ["\(sent.grouped) sent"] + unsentTexts }

    package var total: Int { sent + failed + expired + cancelled }

    /// Those that were not sent, for example "2 failed"; without zeros.
    package var unsentTexts: [String] {
        [(failed, "failed"), (expired, "expired"), (cancelled, "cancelled")].filter { $0.0 > 0 }.map {
            "\($0.grouped) \($1)"
        }
    }

    package var json: JSONValue { ["sent": sent, "failed": failed, "expired": expired, "cancelled": cancelled] }
}

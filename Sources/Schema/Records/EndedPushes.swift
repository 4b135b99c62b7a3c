package import CarillonText

/// How many pushes of a message have ended, by outcome.
package struct EndedPushes: Decodable, Sendable {
    package let sent: Int
    package let failed: Int
    package let expired: Int
    package let cancelled: Int

    package var total: Int { sent + failed + expired + cancelled }

    package var json: JSONValue { ["sent": sent, "failed": failed, "expired": expired, "cancelled": cancelled] }
}

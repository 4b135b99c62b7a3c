package import CarillonPostgres
import CarillonText

/// The JSON of a batch: an object with its type and time, and with its events as `data`. What an event does not have is left out.
package enum WebhookBody {
    package static func write(_ events: [WebhookEvent], at time: Moment) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(100 + events.count * 256)
        bytes.append(#"{"type":"carillon.events","timestamp":"#)
        bytes.appendQuoted(TimeText.milliseconds(time.microseconds))
        bytes.append(#","data":["#)
        for (place, event) in events.enumerated() {
            if place > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(event)
        }
        bytes.append("]}")
        return bytes
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ event: WebhookEvent) {
        append(#"{"id":"#)
        appendQuoted(event.id)
        appendMember("kind", event.kind)
        appendMember("happened_at", TimeText.milliseconds(event.happenedAt.microseconds))
        appendMember("app", event.app)
        appendIfPresent("message_id", event.messageId)
        appendIfPresent("broadcast_id", event.broadcastId)
        appendIfPresent("reference", event.reference)
        appendIfPresent("token", event.token)
        appendIfPresent("status", event.status)
        appendIfPresent("reason", event.reason)
        appendIfPresent("unregistered_at", event.unregisteredAt.map { TimeText.milliseconds($0.microseconds) })
        appendIfPresent("sent", event.sent)
        appendIfPresent("failed", event.failed)
        appendIfPresent("expired", event.expired)
        appendIfPresent("cancelled", event.cancelled)
        append(UInt8(ascii: "}"))
    }

    private mutating func appendIfPresent(_ name: StaticString, _ number: (some BinaryInteger)?) {
        if let number { appendMember(name, number) }
    }

    private mutating func appendIfPresent(_ name: StaticString, _ text: String?) {
        if let text { appendMember(name, text) }
    }
}

/// The notifications of transactions in which workers store events.
package enum EventNotifications {
    package static let channel = "carillon_events"
}

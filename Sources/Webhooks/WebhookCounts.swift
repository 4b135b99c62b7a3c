/// What a worker has posted since it started, by webhook.
package struct WebhookCounts: Sendable {
    package struct Counts: Sendable {
        package var accepted = 0
        package var failed = 0
        /// In accepted batches.
        package var events = 0
    }

    package private(set) var byName: [String: Counts] = [:]

    package init() {}

    mutating func count(_ name: String, _ change: (inout Counts) -> Void) { change(&byName[name, default: Counts()]) }
}

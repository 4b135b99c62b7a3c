import CarillonIO
import FoundationEssentials

/// The channels of all apps, which survive a stop of the simulator. Several threads may use it: the test's and the loop's.
final class ChannelTable: Sendable {
    /// Apple's limit for an app in one environment.
    static let limit = 10_000
    /// How many removed channels an app remembers.
    private static let rememberedLimit = 100_000

    struct Channel: Sendable, Equatable {
        let id: String
        /// Whether the last message is kept for devices that are offline: Apple's message storage policy 1.
        let storesMessages: Bool
    }

    enum Lookup: Sendable, Equatable {
        case found(Channel)
        case removed
        case neverExisted
    }

    private struct App: Sendable {
        var channels: [String: Channel] = [:]
        /// The IDs in the order of creation.
        var order: [String] = []
        var removed: Set<String> = []
    }

    private let apps = Guarded<[String: App]>([:])

    /// Creates a channel; nil if the app has reached the limit.
    func create(for app: String, storesMessages: Bool) -> Channel? {
        apps.withLock { apps in
            guard apps[app]?.channels.count ?? 0 < Self.limit else { return nil }
            // Sixteen bytes in ordinary base64, like Apple's IDs.
            var random = SystemRandomNumberGenerator()
            let id = Data((0..<16).map { _ in UInt8.random(in: 0 ... .max, using: &random) }).base64EncodedString()
            let channel = Channel(id: id, storesMessages: storesMessages)
            apps[app, default: App()].channels[id] = channel
            apps[app]?.order.append(id)
            return channel
        }
    }

    func find(_ id: String, of app: String) -> Lookup {
        apps.withLock { apps in
            if let channel = apps[app]?.channels[id] { return .found(channel) }
            return apps[app]?.removed.contains(id) == true ? .removed : .neverExisted
        }
    }

    /// Removes a channel; returns false if the app has no such channel.
    func remove(_ id: String, of app: String) -> Bool {
        apps.withLock { apps in
            guard apps[app]?.channels.removeValue(forKey: id) != nil else { return false }
            apps[app]?.order.removeAll { $0 == id }
            if apps[app]?.removed.count ?? 0 >= Self.rememberedLimit { apps[app]?.removed.removeAll() }
            apps[app]?.removed.insert(id)
            return true
        }
    }

    func list(of app: String) -> [String] { apps.withLock { $0[app]?.order ?? [] } }

    var count: Int { apps.withLock { $0.values.reduce(0) { $0 + $1.channels.count } } }
}

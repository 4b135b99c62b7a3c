/// The app that each device token belongs to: that of its first accepted push, as with Apple.
///
/// Memory is bounded: there are a million places in sets of eight. If a set is full, a new device token replaces the least recently
/// used one, which is then forgotten. A set is one cache line, so a push costs one memory access.
struct DeviceTokenOwners {
    typealias App = UInt16

    private static let placesPerSet = 8
    /// The lowest bits of a place hold its app; the others hold the key.
    private static let appMask = UInt64(App.max)

    private let sets: Int
    /// Allocated at the first device token. A place holds a key's upper bits and the number of its app, from 1.
    private var places: [UInt64] = []
    private var apps: [[UInt8]: App] = [:]
    /// The app of the last push, because the next one usually has the same.
    private var lastName: [UInt8] = []
    private var lastApp: App?
    private let hash = DeviceTokenHash()

    /// - Parameter sets: The number of sets, a power of two.
    init(sets: Int = 131_072) { self.sets = sets }

    /// The app's number; nil if there are already 65,534 others.
    mutating func app(named name: Span<UInt8>) -> App? {
        if let lastApp, name.equals(lastName.span) { return lastApp }
        let bytes = name.array
        let known = apps[bytes]
        guard known != nil || apps.count < Int(App.max) - 1 else { return nil }
        let app = known ?? App(apps.count + 1)
        apps[bytes] = app
        (lastName, lastApp) = (bytes, app)
        return app
    }

    func key(of token: Span<UInt8>) -> UInt64 { hash.value(of: token) }

    mutating func owner(of key: UInt64) -> App? {
        guard !places.isEmpty else { return nil }
        let first = firstPlace(of: key)
        return places.withUnsafeMutableBufferPointer { places in
            for place in first..<first + Self.placesPerSet {
                let found = places[place]
                if found == 0 { return nil }
                guard (found ^ key) & ~Self.appMask == 0 else { continue }
                Self.moveToFront(found, from: place, to: first, in: places)
                return App(found & Self.appMask)
            }
            return nil
        }
    }

    /// Gives a device token without an owner to the app.
    mutating func set(_ key: UInt64, to app: App) {
        if places.isEmpty { places = Array(repeating: 0, count: sets * Self.placesPerSet) }
        let first = firstPlace(of: key)
        let taken = key & ~Self.appMask | UInt64(app)
        places.withUnsafeMutableBufferPointer { places in
            Self.moveToFront(taken, from: first + Self.placesPerSet - 1, to: first, in: places)
        }
    }

    private func firstPlace(of key: UInt64) -> Int { Int(key & UInt64(sets - 1)) * Self.placesPerSet }

    /// The first place of a set is the most recently used one.
    private static func moveToFront(
        _ value: UInt64,
        from last: Int,
        to first: Int,
        in places: UnsafeMutableBufferPointer<UInt64>
    ) {
        for place in stride(from: last, to: first, by: -1) { places[place] = places[place - 1] }
        places[first] = value
    }
}

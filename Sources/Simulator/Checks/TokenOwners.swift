/// Which app each device token belongs to: the one that it was first taken for, as at Apple's.
///
/// Memory is bounded: there are a million places, eight to a set, and a token whose set is full takes the place of the one
/// that was seen there longest ago. A token that was forgotten is new again. A set is one line of the processor's cache, so
/// that a push costs one access to memory.
struct TokenOwners {
    /// An app by its number.
    typealias App = UInt16

    private static let placesPerSet = 8
    /// The lowest bits of a place are its app's; what is above is the key's.
    private static let appMask = UInt64(App.max)

    private let sets: Int
    /// Nothing until the first token is taken. A place holds a key's upper bits and the number of its app, counted from 1.
    private var places: [UInt64] = []
    private var apps: [[UInt8]: App] = [:]
    /// The app of the last push, which is that of the next one as a rule.
    private var lastName: [UInt8] = []
    private var lastApp: App?
    private let hash = TokenHash()

    /// - Parameter sets: How many sets of places there are: a power of two.
    init(sets: Int = 131_072) { self.sets = sets }

    /// The app's number; nil where there are more of them than any test has.
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

    /// What stands for a token here.
    func key(of token: Span<UInt8>) -> UInt64 { hash.value(of: token) }

    /// Whom the token belongs to, as far as is known.
    mutating func owner(of key: UInt64) -> App? {
        guard !places.isEmpty else { return nil }
        let first = firstPlace(of: key)
        return places.withUnsafeMutableBufferPointer { places in
            for place in first..<first + Self.placesPerSet {
                let found = places[place]
                if found == 0 { return nil }
                guard (found ^ key) & ~Self.appMask == 0 else { continue }
                Self.bringForward(found, from: place, to: first, in: places)
                return App(found & Self.appMask)
            }
            return nil
        }
    }

    /// The token, which is nobody's, was taken for that app.
    mutating func set(_ key: UInt64, to app: App) {
        if places.isEmpty { places = Array(repeating: 0, count: sets * Self.placesPerSet) }
        let first = firstPlace(of: key)
        let taken = key & ~Self.appMask | UInt64(app)
        places.withUnsafeMutableBufferPointer { places in
            Self.bringForward(taken, from: first + Self.placesPerSet - 1, to: first, in: places)
        }
    }

    private func firstPlace(of key: UInt64) -> Int { Int(key & UInt64(sets - 1)) * Self.placesPerSet }

    /// The first of a set is the one that was seen last.
    private static func bringForward(
        _ value: UInt64,
        from last: Int,
        to first: Int,
        in places: UnsafeMutableBufferPointer<UInt64>
    ) {
        var place = last
        while place > first {
            places[place] = places[place - 1]
            place -= 1
        }
        places[first] = value
    }
}

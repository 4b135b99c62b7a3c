/// Which app each device token belongs to: the one that it was first taken for, as at Apple's.
///
/// Memory is bounded: it knows the tokens seen last, half a million at least and a million at most, and a token that it
/// has forgotten is new again.
struct TokenOwners {
    /// An app by its number.
    typealias App = UInt32

    private static let generation = 500_000
    private static let appLimit = 65_536

    private var young: [UInt64: App] = [:]
    private var old: [UInt64: App] = [:]
    private var apps: [[UInt8]: App] = [:]
    /// The app of the last push, which is that of the next one as a rule.
    private var lastName: [UInt8] = []
    private var lastApp: App?
    private let generation: Int
    /// Nobody outside can make up tokens that are taken for others.
    private let seed = UInt64.random(in: 0 ... .max)

    init(generation: Int = generation) { self.generation = generation }

    /// The app's number; nil where there are more of them than any test has.
    mutating func app(named name: Span<UInt8>) -> App? {
        if let lastApp, name.equals(lastName.span) { return lastApp }
        let bytes = name.array
        let known = apps[bytes]
        guard known != nil || apps.count < Self.appLimit else { return nil }
        let app = known ?? App(apps.count)
        apps[bytes] = app
        (lastName, lastApp) = (bytes, app)
        return app
    }

    /// What stands for a token here. Its digits may be in either case.
    func key(of token: Span<UInt8>) -> UInt64 {
        var hash = seed
        var word: UInt64 = 0
        for index in 0..<token.count {
            // Digits have this bit already, letters have it in lower case.
            word = word << 8 | UInt64(token[index] | 0x20)
            if index % 8 == 7 {
                hash = Self.mix(hash ^ word)
                word = 0
            }
        }
        return Self.mix(hash ^ word &+ UInt64(token.count))
    }

    private static func mix(_ value: UInt64) -> UInt64 {
        let (high, low) = value.multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return high ^ low ^ value >> 32
    }

    /// Whom the token belongs to, as far as is known.
    mutating func owner(of key: UInt64) -> App? {
        if let app = young[key] { return app }
        guard let app = old[key] else { return nil }
        set(key, to: app)
        return app
    }

    /// The token was taken for that app.
    mutating func set(_ key: UInt64, to app: App) {
        if young.count >= generation {
            old = young
            young = [:]
        }
        young[key] = app
    }
}

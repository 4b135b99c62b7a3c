import CarillonPushQueue
import TestSupport
import Testing

@testable import Carillon

@Suite struct AppOptionsTests {
    /// The words that give an option its first or its second value. A flag has only a second: the first is its absence.
    private static func words(_ option: Option, first: Bool, root: String) -> [String] {
        let flag = "--" + option.flag
        return switch option.kind {
        case .flag: first ? [] : [flag]
        case .count: [flag, first ? "5" : "7"]
        case .duration: [flag, first ? "5h" : "7h"]
        case .file: [flag, root]
        case .choice(let words): [flag, (first ? words.first : words.last) ?? ""]
        default: [flag, first ? "localhost:5" : "localhost:7"]
        }
    }

    private static let options = AppOptions.changes.filter { $0.flag != Option.clear.flag }

    /// The settings of an app after `app set` with these words.
    private static func set(_ words: [String], of app: AppSettings) throws -> AppSettings {
        let parser = ArgumentParser(commands: [.appSet], environment: [:])
        guard case .run(_, _, let settings) = try parser.parse(["app", "set", "shop"] + words) else { return app }
        var app = app
        try AppOptions(settings).apply(to: &app)
        return app
    }

    /// Calls the body with an app whose every setting has a value, and with the path of another root certificate than its own.
    private static func withApp(_ body: (_ app: AppSettings, _ root: String) throws -> Void) throws {
        try TemporaryFolder.with { folder in
            let own = try folder.write("own.pem", try ServerCertificate().rootPEM)
            let words = options.flatMap { Self.words($0, first: true, root: own) }
            let other = try folder.write("other.pem", try ServerCertificate().rootPEM)
            try body(try set(words, of: AppSettings(name: "shop")), other)
        }
    }

    @Test func `each option changes one setting, and each setting has an option`() throws {
        try Self.withApp { app, root in
            var changed: [String] = []
            for option in Self.options {
                let one = unequalProperties(app, try Self.set(Self.words(option, first: false, root: root), of: app))
                #expect(one.count == 1, "--\(option.flag): \(one)")
                changed += one
            }
            #expect(changed.sorted() == equalProperties(app, app).sorted())
        }
    }

    @Test func `each setting that may be none can be cleared, and no other is`() throws {
        try Self.withApp { app, _ in
            let cleared = try AppOptions.clearable.flatMap { option in
                unequalProperties(app, try Self.set(["--clear", option.flag], of: app))
            }
            // An app without a credential sends nothing.
            let optional = Mirror(reflecting: app).children
                .filter { Mirror(reflecting: $0.value).displayStyle == .optional }.compactMap(\.label)
            #expect(cleared.sorted() == optional.filter { $0 != "credential" }.sorted())
        }
    }
}

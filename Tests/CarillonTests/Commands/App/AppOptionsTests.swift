import CarillonPushQueue
import TestSupport
import Testing

@testable import Carillon

@Suite struct AppOptionsTests {
    /// An app whose every setting has a value.
    private static let full: AppSettings = {
        var app = AppSettings(name: "shop")
        (app.topic, app.topics, app.credential) = ("com.example.shop", ["com.example.watch"], "shop")
        (app.gateway, app.feedbackGateway, app.channelGateway) = ("localhost:1", "localhost:2", "localhost:3")
        (app.gatewayCA, app.maxRate, app.maxPerDevice) = ("PEM", 5, 2)
        return app
    }()

    /// The settings of that app that `app set` changes when it is given these words.
    private static func changes(_ words: [String]) throws -> [String] {
        let parser = ArgumentParser(commands: [.appSet], environment: [:])
        guard case .run(_, _, let settings) = try parser.parse(["app", "set", "shop"] + words) else { return [] }
        var app = full
        try AppOptions(settings).apply(to: &app)
        return unequalProperties(full, app)
    }

    @Test func `each option changes one setting, and each setting has an option`() throws {
        try TemporaryFolder.with { folder in
            let root = try folder.write("root.pem", try ServerCertificate().rootPEM)
            var changed: [String] = []
            for option in AppOptions.changes where option.flag != Option.clear.flag {
                let value: [String] =
                    switch option.kind {
                    case .flag: []
                    case .count: ["7"]
                    case .file: [root]
                    case .choice(let words): words.suffix(1)
                    default: ["localhost:7"]
                    }
                let one = try Self.changes(["--" + option.flag] + value)
                #expect(one.count == 1, "--\(option.flag): \(one)")
                changed += one
            }
            #expect(changed.sorted() == equalProperties(Self.full, Self.full).sorted())
        }
    }

    @Test func `each setting that may be none can be cleared, and no other is`() throws {
        let cleared = try AppOptions.clearable.flatMap { try Self.changes(["--clear", $0.flag]) }
        // An app without a credential sends nothing.
        let optional = Mirror(reflecting: Self.full).children
            .filter { Mirror(reflecting: $0.value).displayStyle == .optional }.compactMap(\.label)
        #expect(cleared.sorted() == optional.filter { $0 != "credential" }.sorted())
    }
}

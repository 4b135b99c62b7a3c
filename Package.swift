// swift-tools-version: 6.2
import PackageDescription

/// Every upcoming feature that language mode 6 does not already turn on, and no warning left standing.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
    .treatAllWarnings(as: .error),
]

/// The domain modules handle no pointer without saying `unsafe`; the wrappers of C would say it on every line.
let domain = settings + [.strictMemorySafety()]

// The names of modules must differ from those of all packages that depend on this one: hence "Carillon" before words that others
// use too. In the tree the folder is enough.

func c(_ folder: String, _ pkgConfig: String, _ package: String) -> Target {
    .systemLibrary(
        name: "Carillon" + folder,
        path: "Sources/" + folder,
        pkgConfig: pkgConfig,
        providers: [.apt([package])]
    )
}

func wrapper(_ folder: String, of dependencies: Target.Dependency...) -> Target {
    .target(
        name: "Carillon" + folder,
        dependencies: dependencies,
        path: "Sources/" + folder,
        swiftSettings: settings
    )
}

func tests(_ folder: String, of dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: folder, dependencies: dependencies + ["TestSupport"], swiftSettings: settings)
}

let package = Package(
    name: "carillon",
    products: [
        .executable(name: "carillon", targets: ["Carillon"]),
        .executable(name: "carillon-bench", targets: ["CarillonBenchmarks"]),
        .library(name: "ApplePush", targets: ["ApplePush"]),
        .library(name: "ApplePushSimulator", targets: ["ApplePushSimulator"]),
    ],
    targets: [
        // C libraries: a header and a module map each, no logic.
        .systemLibrary(name: "CarillonCLinux", path: "Sources/CLinux"),
        c("CNGHTTP2", "libnghttp2", "libnghttp2-dev"),
        c("COpenSSL", "openssl", "libssl-dev"),
        c("CPostgres", "libpq", "libpq-dev"),
        c("CExpat", "expat", "libexpat1-dev"),
        c("CCURL", "libcurl", "libcurl4-openssl-dev"),
        c("CMicroHTTP", "libmicrohttpd", "libmicrohttpd-dev"),

        // The files of migrations/, which the program carries inside. Swift would compile literals of their bytes for minutes.
        .target(name: "CarillonCMigrations", path: "Sources/CMigrations"),

        // What needs nothing.
        .target(name: "CarillonText", path: "Sources/Text", swiftSettings: domain),

        // The ground floor: each wraps one thing of the outside world.
        wrapper("IO", of: "CarillonCLinux"),
        wrapper("TLS", of: "CarillonCOpenSSL", "CarillonIO", "CarillonText"),
        wrapper("HTTP2", of: "CarillonCNGHTTP2", "CarillonIO"),
        wrapper("Postgres", of: "CarillonCPostgres", "CarillonIO", "CarillonText"),
        wrapper("HTTPClient", of: "CarillonCCURL", "CarillonIO"),
        wrapper("Web", of: "CarillonCExpat", "CarillonCMicroHTTP", "CarillonIO", "CarillonText"),

        // The domain.
        .target(name: "CarillonPushRules", path: "Sources/PushRules", swiftSettings: domain),
        .target(
            name: "ApplePush",
            dependencies: ["CarillonHTTP2", "CarillonIO", "CarillonPushRules", "CarillonText", "CarillonTLS"],
            swiftSettings: domain
        ),
        .target(
            name: "CarillonSchema",
            dependencies: ["CarillonCMigrations", "CarillonIO", "CarillonPostgres", "CarillonText"],
            path: "Sources/Schema",
            swiftSettings: domain
        ),
        .target(
            name: "CarillonPushQueue",
            dependencies: ["ApplePush", "CarillonIO", "CarillonPostgres", "CarillonSchema", "CarillonText"],
            path: "Sources/PushQueue",
            swiftSettings: domain
        ),
        .target(
            name: "CarillonWebhooks",
            dependencies: [
                "CarillonHTTPClient", "CarillonIO", "CarillonPostgres", "CarillonSchema", "CarillonText", "CarillonTLS",
            ],
            path: "Sources/Webhooks",
            swiftSettings: domain
        ),
        .target(
            name: "ApplePushSimulator",
            dependencies: ["CarillonHTTP2", "CarillonIO", "CarillonPushRules", "CarillonText", "CarillonTLS"],
            path: "Sources/Simulator",
            swiftSettings: settings
        ),

        .target(
            name: "CarillonDashboard",
            dependencies: [
                "ApplePush", "CarillonIO", "CarillonPostgres", "CarillonSchema", "CarillonText", "CarillonTLS",
                "CarillonWeb",
            ],
            path: "Sources/Dashboard",
            resources: [.embedInCode("Assets")],  // what pages load: the program carries it inside
            swiftSettings: settings
        ),

        // The programs.
        .executableTarget(
            name: "Carillon",
            dependencies: [
                "ApplePush", "CarillonDashboard", "CarillonHTTP2", "CarillonHTTPClient", "CarillonIO",
                "CarillonPostgres", "CarillonPushQueue", "CarillonPushRules", "CarillonSchema", "ApplePushSimulator",
                "CarillonText", "CarillonTLS", "CarillonWeb", "CarillonWebhooks",
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "CarillonBenchmarks",
            dependencies: [
                "ApplePush", "CarillonIO", "CarillonPostgres", "CarillonPushQueue", "CarillonSchema",
                "ApplePushSimulator", "CarillonTLS",
            ],
            path: "Sources/Benchmarks",
            swiftSettings: settings
        ),

        // What tests share, then a folder of tests a module.
        .target(
            name: "TestSupport",
            dependencies: [
                "ApplePush", "CarillonIO", "CarillonPostgres", "CarillonPushQueue", "CarillonSchema",
                "ApplePushSimulator", "CarillonTLS",
            ],
            path: "Tests/TestSupport",
            swiftSettings: settings
        ),
        tests("TextTests", of: ["CarillonIO", "CarillonText"]),
        tests("IOTests", of: ["CarillonIO"]),
        tests("TLSTests", of: ["CarillonIO", "CarillonTLS"]),
        tests("HTTP2Tests", of: ["CarillonCNGHTTP2", "CarillonHTTP2", "CarillonIO"]),
        tests("PostgresTests", of: ["CarillonIO", "CarillonPostgres", "CarillonText"]),
        tests("HTTPClientTests", of: ["CarillonHTTPClient", "CarillonIO"]),
        tests("WebTests", of: ["CarillonIO", "CarillonText", "CarillonWeb"]),
        tests(
            "ApplePushTests",
            of: [
                "ApplePush", "CarillonHTTP2", "CarillonIO", "ApplePushSimulator", "CarillonText", "CarillonTLS",
            ]
        ),
        tests(
            "SchemaTests",
            of: [
                "ApplePush", "CarillonIO", "CarillonPostgres", "CarillonPushQueue", "CarillonPushRules",
                "CarillonSchema", "CarillonTLS",
            ]
        ),
        tests(
            "PushQueueTests",
            of: [
                "ApplePush", "CarillonIO", "CarillonPostgres", "CarillonPushQueue", "CarillonSchema", "CarillonText",
                "CarillonTLS",
            ]
        ),
        tests(
            "WebhooksTests",
            of: [
                "CarillonHTTPClient", "CarillonIO", "CarillonPostgres", "CarillonTLS", "CarillonWebhooks",
            ]
        ),
        tests(
            "SimulatorTests",
            of: [
                "CarillonHTTP2", "CarillonIO", "CarillonPushRules", "ApplePushSimulator", "CarillonText", "CarillonTLS",
            ]
        ),
        tests(
            "DashboardTests",
            of: [
                "ApplePush", "CarillonDashboard", "CarillonIO", "CarillonPostgres", "CarillonPushQueue",
                "CarillonSchema", "ApplePushSimulator", "CarillonText", "CarillonTLS", "CarillonWeb",
            ]
        ),
        tests(
            "CarillonTests",
            of: [
                "ApplePush", "Carillon", "CarillonDashboard", "CarillonHTTPClient", "CarillonIO", "CarillonPostgres",
                "CarillonPushQueue", "CarillonPushRules", "CarillonSchema", "ApplePushSimulator", "CarillonText",
                "CarillonTLS", "CarillonWeb", "CarillonWebhooks",
            ]
        ),
        tests("BenchmarksTests", of: ["CarillonBenchmarks"]),
        tests(
            "FaultBoard",
            of: [
                "ApplePush", "Carillon", "CarillonIO", "CarillonPostgres", "CarillonPushQueue", "ApplePushSimulator",
                "CarillonText", "CarillonTLS", "CarillonWeb",
            ]
        ),
        tests(
            "EndToEndTests",
            of: [
                "ApplePush", "CarillonIO", "CarillonPostgres", "CarillonPushQueue", "ApplePushSimulator", "CarillonTLS",
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)

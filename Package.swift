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

let package = Package(
    name: "carillon",
    products: [
        .executable(name: "carillon", targets: ["Carillon"]),
        .executable(name: "carillon-bench", targets: ["Benchmarks"]),
        .library(name: "ApplePush", targets: ["ApplePush"]),
        .library(name: "Simulator", targets: ["Simulator"]),
    ],
    targets: [
        // C libraries: a header and a module map each, no logic.
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CMicroHTTP", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),

        // The ground floor: each wraps one thing of the outside world.
        .target(name: "IO", dependencies: ["CLinux"], swiftSettings: settings),
        .target(name: "TLS", dependencies: ["COpenSSL", "IO"], swiftSettings: settings),
        .target(name: "HTTP2", dependencies: ["CNGHTTP2", "IO"], swiftSettings: settings),
        .target(name: "Postgres", dependencies: ["CPostgres", "IO"], swiftSettings: settings),
        .target(name: "Web", dependencies: ["CMicroHTTP", "IO"], swiftSettings: settings),

        // The domain.
        .target(name: "ApplePush", dependencies: ["HTTP2", "IO", "TLS"], swiftSettings: domain),
        .target(
            name: "PushQueue",
            dependencies: ["ApplePush", "IO", "Postgres"],
            resources: [.embedInCode("Migrations/sql")],  // a link to migrations/: the program carries them inside
            swiftSettings: domain
        ),
        .target(name: "Simulator", dependencies: ["HTTP2", "IO", "TLS"], swiftSettings: settings),

        // The programs.
        .executableTarget(
            name: "Carillon",
            dependencies: ["ApplePush", "HTTP2", "IO", "Postgres", "PushQueue", "Simulator", "TLS", "Web"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "Benchmarks",
            dependencies: ["ApplePush", "IO", "Postgres", "PushQueue", "Simulator", "TLS"],
            swiftSettings: settings
        ),

        // What tests share, then a folder of tests a module.
        .target(
            name: "TestSupport",
            dependencies: ["IO", "Postgres", "PushQueue", "Simulator", "TLS"],
            path: "Tests/TestSupport",
            swiftSettings: settings
        ),
        .testTarget(name: "IOTests", dependencies: ["IO", "TestSupport"], swiftSettings: settings),
        .testTarget(name: "TLSTests", dependencies: ["TLS", "TestSupport"], swiftSettings: settings),
        .testTarget(name: "HTTP2Tests", dependencies: ["HTTP2", "IO", "TestSupport"], swiftSettings: settings),
        .testTarget(name: "PostgresTests", dependencies: ["Postgres", "TestSupport"], swiftSettings: settings),
        .testTarget(name: "WebTests", dependencies: ["IO", "Web", "TestSupport"], swiftSettings: settings),
        .testTarget(
            name: "ApplePushTests",
            dependencies: ["ApplePush", "HTTP2", "IO", "Simulator", "TLS", "TestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PushQueueTests",
            dependencies: ["IO", "Postgres", "PushQueue", "Simulator", "TLS", "TestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "SimulatorTests",
            dependencies: ["HTTP2", "IO", "Simulator", "TLS", "TestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CarillonTests",
            dependencies: ["Carillon", "IO", "Postgres", "PushQueue", "Simulator", "TLS", "TestSupport"],
            swiftSettings: settings
        ),
        .testTarget(name: "BenchmarksTests", dependencies: ["Benchmarks", "TestSupport"], swiftSettings: settings),
        .testTarget(
            name: "FaultBoard",
            dependencies: ["ApplePush", "Carillon", "IO", "Postgres", "PushQueue", "Simulator", "TLS", "TestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "EndToEndTests",
            dependencies: ["PushQueue", "Simulator", "TestSupport"],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)

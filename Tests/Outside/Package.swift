// swift-tools-version: 6.2
import PackageDescription

// A package of somebody else, which depends on Carillon by its path. It holds every example of the README and of the
// libraries' documentation, and modules and types whose names must not clash with Carillon's. `.ci/outside` builds a copy of it in a
// folder elsewhere.
let package = Package(
    name: "outside",
    dependencies: [.package(name: "carillon", path: "../..")],
    targets: [
        .target(name: "TLS"),
        .target(name: "IO"),
        .target(name: "HTTP2"),
        .target(name: "PushQueue"),
        .testTarget(
            name: "Examples",
            dependencies: [
                "TLS", "IO", "HTTP2", "PushQueue",
                .product(name: "ApplePush", package: "carillon"),
                .product(name: "ApplePushSimulator", package: "carillon"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)

import CarillonIO
import CarillonWeb
import Testing

@testable import Carillon

/// Requests for `/metrics` that would keep a worker from answering `/livez`.
@Suite struct SharedMetricsTests {
    private final class Scene: Sendable {
        let made = Guarded(0)
        let now = Guarded(MonotonicInstant(nanoseconds: 0))
    }

    private let scene = Scene()

    private var shared: SharedMetrics {
        SharedMetrics(now: { [scene] in scene.now.withLock { $0 } }) { [scene] in
            let made = scene.made.withLock { made in
                made += 1
                return made
            }
            var metrics = MetricsText()
            metrics.add("made", "How often.", made)
            return metrics
        }
    }

    private static func text(_ shared: SharedMetrics) async -> String {
        String(decoding: await shared.response().body, as: UTF8.self)
    }

    @Test func `many requests at once are answered with one text`() async {
        let shared = shared
        let texts = await withTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { await Self.text(shared) } }
            return await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(texts.count == 1 && scene.made.withLock { $0 } == 1)
        #expect(texts.first?.hasSuffix("made 1\n") ?? false, "\(texts)")
    }

    @Test func `a text is used for 200 milliseconds`() async {
        let shared = shared
        for (milliseconds, made) in [(0, 1), (199, 1), (200, 2), (399, 2), (400, 3)] {
            scene.now.withLock { $0 = MonotonicInstant(nanoseconds: Int64(milliseconds) * 1_000_000) }
            #expect(await Self.text(shared).hasSuffix("made \(made)\n"))
        }
    }
}

import CarillonIO
import CarillonWeb

/// The response to requests for `/metrics`, which are answered with the same bytes for a moment: to make them again for each request
/// could keep all threads busy. Docs: docs/metrics.md.
actor SharedMetrics {
    private let maxAge: Duration
    private let now: @Sendable () -> MonotonicInstant
    private let metrics: @Sendable () async -> MetricsText
    private var last: (response: Response, at: MonotonicInstant)?
    /// Shared by the requests that come meanwhile.
    private var next: Task<Response, Never>?

    init(
        maxAge: Duration = .milliseconds(200),
        now: @escaping @Sendable () -> MonotonicInstant = { .now },
        _ metrics: @escaping @Sendable () async -> MetricsText
    ) {
        self.maxAge = maxAge
        self.now = now
        self.metrics = metrics
    }

    func response() async -> Response {
        if let next { return await next.value }
        if let last, now() - last.at < maxAge { return last.response }
        let task = Task { [metrics] in
            Response(text: await metrics().text, contentType: "text/plain; version=0.0.4; charset=utf-8")
        }
        next = task
        let response = await task.value
        last = (response, now())
        next = nil
        return response
    }
}

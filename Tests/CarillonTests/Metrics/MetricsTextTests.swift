import Testing

@testable import Carillon

@Suite struct MetricsTextTests {
    @Test func `a name cannot end its label, whatever it is made of`() {
        var metrics = MetricsText()
        metrics.begin("carillon_depth", .gauge, "Depth.")
        metrics.add(1, ["app": "a\r\nb\"\u{301}\\\u{301}"])
        #expect(metrics.text.hasSuffix("\ncarillon_depth{app=\"a\r\\nb\\\"\u{301}\\\\\u{301}\"} 1\n"))
    }

    @Test func `a family is its help, its kind and its samples`() {
        var metrics = MetricsText()
        metrics.begin("carillon_pushes_total", .counter, "Pushes that ended.")
        metrics.add(12, ["app": "a \"b\"\n\\", "status": "200"])
        metrics.begin("carillon_in_flight", .gauge, "Pushes in flight.")
        metrics.add(0.5)
        #expect(
            metrics.text == """
                # HELP carillon_pushes_total Pushes that ended.
                # TYPE carillon_pushes_total counter
                carillon_pushes_total{app="a \\"b\\"\\n\\\\",status="200"} 12
                # HELP carillon_in_flight Pushes in flight.
                # TYPE carillon_in_flight gauge
                carillon_in_flight 0.5

                """
        )
    }

    @Test func `a histogram's buckets add up`() {
        var metrics = MetricsText()
        metrics.begin("carillon_wait_seconds", .histogram, "Waiting.")
        metrics.addHistogram(bounds: [0.1, 1], counts: [3, 2, 1], sum: 4.25, ["app": "x"])
        #expect(
            metrics.text.split(separator: "\n").dropFirst(2) == [
                "carillon_wait_seconds_bucket{app=\"x\",le=\"0.1\"} 3",
                "carillon_wait_seconds_bucket{app=\"x\",le=\"1\"} 5",
                "carillon_wait_seconds_bucket{app=\"x\",le=\"+Inf\"} 6",
                "carillon_wait_seconds_sum{app=\"x\"} 4.25",
                "carillon_wait_seconds_count{app=\"x\"} 6",
            ]
        )
    }
}

import CarillonPostgres

/// The pages of the dashboard over a long queue and a long history: how long each takes, how large it is, and how much of its rate
/// a worker keeps while three of them are open.
struct WebBenchmark {
    /// The number of ready jobs. The history has five times as many rows.
    let rows: Int

    /// A page must arrive within this time, and must be small including what it loads.
    private static let maxMilliseconds = 100.0
    private static let maxBytes = 60_000.0

    private static let pairs = 6
    /// The pages that refresh most often and cost most.
    private static let openPages = ["/", "/broadcasts", "/failures"]

    private var rounds: Int { min(30, max(2, rows / 10_000)) }
    /// The pushes in each measurement of the worker: enough for every open page to refresh more than once.
    private var window: Int { min(500_000, rows / 2) }
    private var warmUp: Int { window / 10 }

    func run(into report: inout Report) async throws {
        try await Installation.with { installation in
            let fill = try await WebFill(rows: rows, on: installation)
            try await fill.run()
            try await installation.withDashboard { port in
                try await measurePages(of: fill, at: port, into: &report)
                try await fill.quieten()
                try await measureWorker(on: installation, at: port, into: &report)
            }
        }
    }

    // MARK: The pages

    private func measurePages(of fill: WebFill, at port: UInt16, into report: inout Report) async throws {
        let client = try await WebClient(port: port, on: fill.installation.loop)
        let addresses = try await WebAddresses(fill, client)
        let pages = try await measure(addresses.all, "text/html", client)
        let documents = try await measure(addresses.all, "application/json", client)
        let largest = pages.max { $0.bytes < $1.bytes }.map { Double($0.bytes + addresses.assetBytes) } ?? 0
        report.add("pages", Double(pages.count), .count)
        add("the slowest page", pages, into: &report)
        add("the slowest as JSON", documents, into: &report)
        report.add("the largest page, with style sheet and script", largest, .bytes, .atMost(Self.maxBytes))
    }

    private func add(_ name: String, _ pages: [PageTimes], into report: inout Report) {
        guard let slowest = pages.first else { return }
        report.add("\(name): p50", slowest.times.median, .milliseconds)
        report.add("  p95", slowest.times[0.95], .milliseconds, .atMost(Self.maxMilliseconds))
        report.add("  max", pages.map { $0.times[1] }.max() ?? 0, .milliseconds)
    }

    /// Every address in turn, round after round; the slowest is the first of the result.
    private func measure(_ addresses: [String], _ type: String, _ client: WebClient) async throws -> [PageTimes] {
        var answers: [[WebClient.PageAnswer]] = addresses.map { _ in [] }
        for _ in 0..<rounds {
            for (index, address) in addresses.enumerated() {
                answers[index].append(try await client.get(address, accepting: type))
            }
        }
        let pages = zip(addresses, answers).map(PageTimes.init).sorted { $0.times[0.95] > $1.times[0.95] }
        print("  \(type), \(rounds) times each: p50, p95, max; bytes")
        for page in pages { print("    \(page.line)") }
        if let bad = pages.first(where: { $0.status != 200 }) {
            throw BenchmarkError("\(bad.address) was answered with \(bad.status).")
        }
        return pages
    }

    // MARK: The worker

    /// Measures half of the time with open pages and half without, in an order that exposes both to the same changes of the
    /// machine.
    private func measureWorker(on installation: Installation, at port: UInt16, into report: inout Report) async throws {
        var (alone, beside): ([Double], [Double]) = ([], [])
        for pair in 0..<Self.pairs {
            for isBeside in pair.isMultiple(of: 2) ? [false, true] : [true, false] {
                let rate = try await rate(on: installation, beside: isBeside ? Self.openPages : [], at: port)
                if isBeside { beside.append(rate) } else { alone.append(rate) }
            }
        }
        let ratios = Sample(zip(alone, beside).map { $1 / $0 })
        report.add("rows a second of a worker, no page open", Sample(alone).median, .rate)
        report.add("rows a second, \(Self.openPages.count) pages open", Sample(beside).median, .rate)
        report.add("  rate with / without them, median of \(Self.pairs) pairs", ratios.median, .ratio, .atLeast(0.97))
    }

    private func rate(on installation: Installation, beside pages: [String], at port: UInt16) async throws -> Double {
        let needed = window + 2 * warmUp + Installation.spareRows
        let waiting = try await installation.number(
            "SELECT count(*) FROM (SELECT FROM carillon.messages m WHERE m.app_id = \(installation.app) LIMIT \(needed)) m"
        )
        if waiting < needed { try await installation.fill(needed - waiting) }
        try await installation.connection.script("CHECKPOINT")
        return try await withThrowingTaskGroup(of: Void.self) { group in
            for address in pages {
                let page = try await PageFollower(address, port: port, on: installation.loop)
                group.addTask { try await page.stay() }
            }
            let before = await installation.delivered()
            var rate = 0.0
            try await installation.withWorkers { _ in
                _ = try await installation.arrival(of: before + warmUp)
                rate = try await installation.rate(of: window)
            }
            group.cancelAll()
            // Throws if a page ended on its own.
            try await group.waitForAll()
            return rate
        }
    }
}

/// How long the answers for one address took, and how large they were.
private struct PageTimes {
    let address: String
    /// Milliseconds.
    let times: Sample
    /// The size of the largest answer.
    let bytes: Int
    /// 200, or the status of an answer that differs.
    let status: Int

    init(_ address: String, _ answers: [WebClient.PageAnswer]) {
        self.address = address
        times = Sample(answers.map { $0.time / .milliseconds(1) })
        bytes = answers.map(\.bytes).max() ?? 0
        status = answers.map(\.status).first { $0 != 200 } ?? 200
    }

    var line: String {
        let figures = [times.median, times[0.95], times[1]].map { Figure.Unit.milliseconds.text(of: $0) }
        return figures.joined(separator: "  ") + "  \(Figure.grouped(Double(bytes)))  \(address)"
    }
}

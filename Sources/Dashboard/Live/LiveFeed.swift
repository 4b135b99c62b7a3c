import CarillonIO
import CarillonWeb
import Synchronization

/// `GET /live?page=ADDRESS`: sends a page as a server-sent event whenever its content has changed.
///
/// The number of feeds is limited, so that they never use up the connections. A browser without one reloads the page at intervals.
final class LiveFeed: Sendable {
    static let maxFeeds = 32
    /// A disconnected client is noticed only when something is sent.
    private static let quiet = Duration.seconds(10)
    /// After this time the feed ends, and the browser opens a new one.
    private static let lifetime = Duration.seconds(15 * 60)

    typealias PageReader = @Sendable (Request) async -> LivePage?

    private let loop: EventLoop
    private let readPage: PageReader
    private let open = Atomic(0)

    /// - Parameter readPage: reads the page at an address; returns nil if it does not exist or the viewer may not read it.
    init(loop: EventLoop, readPage: @escaping PageReader) {
        self.loop = loop
        self.readPage = readPage
    }

    private var openCount: Int { open.load(ordering: .relaxed) }

    func answer(_ request: Request) async -> Response {
        guard let page = request.parameter("page").flatMap({ Link(sent: $0) }) else {
            return RequestError.badRequest("'page' is the address of a page.").response(to: request)
        }
        let wanted = page.request(like: request)
        guard let first = await readPage(wanted) else {
            return RequestError.notFound("There is nothing to show at this address.").response(to: request)
        }
        guard first.refreshInterval != nil else {
            return RequestError.notFound("This page does not change by itself.").response(to: request)
        }
        guard openCount < Self.maxFeeds else {
            let detail = "Too many pages update live: reload this page instead."
            return RequestError(status: .serviceUnavailable, detail: detail).response(to: request)
                .adding("Retry-After", "30")
        }
        return Response(
            stream: ResponseStream { [self] stream in
                // Counted here, because a response whose client has gone is never read.
                if open.add(1, ordering: .relaxed).newValue <= Self.maxFeeds { await feed(stream, wanted) }
                open.subtract(1, ordering: .relaxed)
            },
            contentType: "text/event-stream; charset=utf-8"
        )
    }

    private func feed(_ stream: ResponseStream, _ request: Request) async {
        let end = MonotonicInstant.now + Self.lifetime
        var before: String?
        var saidAt = MonotonicInstant.now
        while !stream.isClosed, .now < end, let page = await readPage(request) {
            let event = page.event
            if event != before {
                stream.send(event)
                (before, saidAt) = (event, .now)
            } else if .now - saidAt >= Self.quiet {
                stream.send(":\n\n")
                saidAt = .now
            }
            guard let interval = page.refreshInterval else { return }
            do {
                try await loop.sleep(for: .seconds(interval))
            } catch {
                return
            }
        }
    }
}

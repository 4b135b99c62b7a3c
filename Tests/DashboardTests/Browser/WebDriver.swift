import CarillonIO
import CarillonText
import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// A real Chromium without a window, driven by chromedriver over WebDriver (W3C) and a few commands of Chromium's own.
struct WebDriver: Sendable {
    static let isWanted = ProcessInfo.processInfo.environment["BROWSE"] != nil
    static let isInstalled = driver != nil && browser != nil

    private static let driver = found("/usr/bin/chromedriver")
    private static let browser = found("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")

    private static func found(_ paths: String...) -> String? {
        paths.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Ends the driver and the browser when its standard input ends: when a test is over, and also when the tests are killed. The
    /// browser is known by its profile, which is in the environment here, so that the script does not find itself.
    private static let keeper = """
        "$0" --port="$1" < /dev/null > /dev/null 2>&1 &
        cat > /dev/null
        kill -9 $!
        for process in /proc/[0-9]*; do
            if grep -qs -- "$PROFILE" "$process/cmdline"; then kill -9 "${process#/proc/}"; fi
        done
        """

    private let port: UInt16
    private let session: String
    let loop: EventLoop

    /// - Parameter usesScripts: false: as a browser in which JavaScript is off.
    static func with(
        in folder: TemporaryFolder,
        on loop: EventLoop,
        usesScripts: Bool = true,
        _ body: (WebDriver) async throws -> Void
    ) async throws {
        // Chromedriver cannot be asked which port it has taken.
        let port = ReservedPort.choose()
        let profile = folder.file("profile")
        var ends: [CInt] = [0, 0]
        try #require(pipe(&ends) == 0)
        let (end, leash) = (ends[0], ends[1])
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var command = ChildProcess.Command("/bin/sh", ["-c", keeper, try #require(driver), "\(port)"])
        command.environment = ProgramRun.environment([
            "HOME": folder.file("home"), "TMPDIR": folder.path, "PROFILE": profile,
        ])
        command.input = .descriptor(end)
        command.output = .nothing
        command.error = .nothing
        let child: ChildProcess
        do {
            defer { close(end) }
            child = try ChildProcess(command)
        } catch {
            close(leash)
            throw error
        }
        try await attempt {
            try await loop.eventually("chromedriver listens") {
                let status = try? await send(port, "GET /status", "")
                return status?.contains("\"ready\":true") ?? false
            }
            let arguments = [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir=\(profile)",
            ]
            let list = arguments.map { "\"\($0)\"" }.joined(separator: ",")
            let preferences = usesScripts ? "{}" : #"{"profile.managed_default_content_settings.javascript": 2}"#
            let answer = try await send(
                port,
                "POST /session",
                """
                {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"},
                "goog:chromeOptions": {"binary": "\(try #require(browser))", "args": [\(list)], "prefs": \(preferences)}}}}
                """
            )
            let session = String(try #require(answer.firstMatch(of: /"sessionId":"([^"]+)"/)).output.1)
            let browser = WebDriver(port: port, session: session, loop: loop)
            try await attempt {
                try await body(browser)
            } finally: {
                _ = try await browser.ask("DELETE", "")
            }
        } finally: {
            close(leash)
            _ = try await child.wait(on: loop, until: .now + .seconds(180))
        }
    }

    // MARK: Commands

    func open(_ address: String) async throws { _ = try await ask("POST", "/url", "{\"url\": \(Self.quote(address))}") }

    var address: String { get async throws { try await text("/url") } }

    /// The text of the page, as a person sees it.
    var sight: String { get async throws { try await again { try await element("body", "/text") } } }

    /// Waits for a text on the page: a click has ended before the page that it leads to is there.
    func see(_ text: String) async throws {
        try await loop.eventually("the page says '\(text)'") { try await sight.contains(text) }
    }

    var source: String { get async throws { try await text("/source") } }

    /// Clicks the first element that a CSS selector finds.
    func click(_ selector: String) async throws {
        try await again { _ = try await ask("POST", "/element/\(try await find(selector))/click", "{}") }
    }

    func type(_ text: String, into selector: String) async throws {
        try await again {
            let id = try await find(selector)
            _ = try await ask("POST", "/element/\(id)/clear", "{}")
            _ = try await ask("POST", "/element/\(id)/value", "{\"text\": \(Self.quote(text))}")
        }
    }

    /// The page may replace an element, or be left, while it is looked for.
    private func again<R>(_ body: () async throws -> R) async throws -> R {
        var result: R?
        try await loop.eventually("the page stays as it is") {
            do {
                result = try await body()
            } catch let failure as Failure where failure.isPassing {
                return false
            }
            return true
        }
        return try #require(result)
    }

    /// Sends keys to the page, as a person without a mouse does.
    func press(_ keys: String) async throws {
        let actions = keys.flatMap { key in
            ["keyDown", "keyUp"].map { "{\"type\": \"\($0)\", \"value\": \(Self.quote(String(key)))}" }
        }
        _ = try await ask(
            "POST",
            "/actions",
            "{\"actions\": [{\"type\": \"key\", \"id\": \"keys\", \"actions\": [\(actions.joined(separator: ","))]}]}"
        )
    }

    /// The value of a script of the test, as JSON.
    func value(_ script: String) async throws -> String {
        let answer = try await ask("POST", "/execute/sync", "{\"script\": \(Self.quote(script)), \"args\": []}")
        return String(answer.dropFirst("{\"value\":".count).dropLast())
    }

    func back() async throws { _ = try await ask("POST", "/back", "{}") }

    /// The lines that the browser has logged, such as scripts that it refused to run.
    var log: String { get async throws { try await ask("POST", "/se/log", "{\"type\": \"browser\"}") } }

    /// As when a person looks at another tab.
    func hide() async throws { _ = try await ask("POST", "/window/minimize", "{}") }

    func unhide() async throws { _ = try await ask("POST", "/window/maximize", "{}") }

    func show(width: Int, isDark: Bool) async throws {
        let mode = isDark ? "dark" : "light"
        try await command(
            "Emulation.setDeviceMetricsOverride",
            "{\"width\": \(width), \"height\": 900, \"deviceScaleFactor\": 1, \"mobile\": false}"
        )
        try await command(
            "Emulation.setEmulatedMedia",
            "{\"features\": [{\"name\": \"prefers-color-scheme\", \"value\": \"\(mode)\"}]}"
        )
    }

    /// The whole page, as PNG.
    func picture() async throws -> Data {
        struct Answer: Decodable {
            struct Picture: Decodable { let data: Data }
            let value: Picture
        }
        let text = try await command("Page.captureScreenshot", #"{"format": "png", "captureBeyondViewport": true}"#)
        return try JSONDecoder().decode(Answer.self, from: Data(text.utf8)).value.data
    }

    @discardableResult private func command(_ name: String, _ parameters: String) async throws -> String {
        try await ask("POST", "/goog/cdp/execute", "{\"cmd\": \"\(name)\", \"params\": \(parameters)}")
    }

    // MARK: Elements

    private func find(_ selector: String) async throws -> String {
        let answer = try await ask(
            "POST",
            "/element",
            "{\"using\": \"css selector\", \"value\": \(Self.quote(selector))}"
        )
        return String(
            try #require(answer.firstMatch(of: /"element-[^"]+":"([^"]+)"/), "\(selector): \(answer)").output.1
        )
    }

    private func element(_ selector: String, _ what: String) async throws -> String {
        try await text("/element/\(try await find(selector))\(what)")
    }

    private func text(_ path: String) async throws -> String {
        struct Answer: Decodable { let value: String }
        return try JSONDecoder().decode(Answer.self, from: Data(try await ask("GET", path).utf8)).value
    }

    // MARK: Requests

    private func ask(_ method: String, _ path: String, _ body: String = "") async throws -> String {
        try await Self.send(port, "\(method) /session/\(session)\(path)", body)
    }

    private static func send(_ port: UInt16, _ line: String, _ body: String) async throws -> String {
        let headers = body.isEmpty ? "" : "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
        let request = "\(line) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n\(headers)\r\n\(body)"
        let answer = await RawHTTP.exchange(port, request, until: isWhole)
        guard let end = answer.firstRange(of: "\r\n\r\n") else { throw Failure(description: "\(line): \(answer)") }
        let text = String(answer[end.upperBound...])
        guard answer.hasPrefix("HTTP/1.1 200 ") else { throw Failure(description: "\(line): \(text.prefix(500))") }
        return text
    }

    /// Chromedriver keeps connections open.
    private static func isWhole(_ answer: [UInt8]) -> Bool {
        let mark = Array("\r\n\r\n".utf8)
        guard let end = answer.firstRange(of: mark) else { return false }
        let head = String(decoding: answer[..<end.lowerBound], as: UTF8.self)
        guard let length = head.firstMatch(of: /Content-Length: *(\d+)/).flatMap({ Int($0.output.1) }) else {
            return false
        }
        return answer.count - end.upperBound >= length
    }

    private struct Failure: Error, CustomStringConvertible {
        let description: String

        var isPassing: Bool {
            ["stale element", "inspector error", "no such element", "not interactable", "intercepted"].contains {
                description.contains($0)
            }
        }
    }

    private static func quote(_ text: String) -> String { JSONValue.string(text).text }
}

import CarillonHTTPClient
import CarillonText
import FoundationEssentials
import Testing

@testable import ApplePush
@testable import Carillon
@testable import CarillonDashboard
@testable import CarillonPushQueue
@testable import CarillonWeb

/// Something that reads what anybody may send: a part of a request that a port reads before it knows who sent it, or an answer of
/// a service.
struct OpenReader: Sendable, CustomTestStringConvertible {
    let name: String
    /// What its inputs are made of, besides the texts that are hostile to each reader.
    let pieces: [String]
    let read: @Sendable ([UInt8]) -> Void

    var testDescription: String { name }

    private init(_ name: String, _ pieces: [String] = [], _ read: @escaping @Sendable ([UInt8]) -> Void) {
        (self.name, self.pieces, self.read) = (name, pieces, read)
    }

    /// A reader of a text that the server has let pass: the path, the query or a header.
    private static func head(
        _ name: String,
        _ pieces: [String] = [],
        _ read: @escaping @Sendable (String) -> Void
    ) -> OpenReader {
        OpenReader(name, pieces) { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            if text.isCheapToCompare { read(text) }
        }
    }

    private static func request(_ headers: (name: String, value: String)...) -> Request {
        Request(method: "POST", path: "/login", headers: headers, peer: "10.0.0.2")
    }

    private static func request(ofProgram body: [UInt8], query: [(name: String, value: String)] = []) -> Request {
        let headers = [(name: "Authorization", value: "Bearer x"), (name: "Content-Type", value: "application/json")]
        return Request(method: "POST", path: "/", query: query, headers: headers, body: body, peer: "10.0.0.2")
    }

    static let all = addresses + headers + bodies

    // MARK: The head of a request

    private static let addresses = [
        head("path", ["/", "%2F", "..", "~"]) { _ = Link(sent: "/" + $0) },
        head("query", ["a=", "&", "%26", "page=/apps"]) { _ = Link(sent: "/a?" + $0) },
        head("pattern", ["/", "apps", "tokens"]) { _ = PathPattern("/apps/{name}/tokens").match("/" + $0) },
        head("host", ["localhost", ":80", "[::1]", "127.0.0.1"]) { _ = HostName.isLocal(HostName.of($0)) },
        head("origin", ["http://", "https://"]) { _ = HostName.isOrigin("http://" + $0, of: $0) },
    ]

    private static let proxy = ProxyTrust(
        addresses: ["10.0.0.2"],
        header: "X-User",
        operators: ["anna"],
        hosts: ["a.example"]
    )
    private static let access = WebAccess(WebAccess.Rules(isOpenToOthers: true))
    private static let proxied = WebAccess(WebAccess.Rules(isOpenToOthers: true, proxy: proxy))

    private static let headers = [
        head("names of headers", ["Host", "X-Forwarded-For"]) { _ = request(($0, "a")).header("Host") },
        head("cookies", ["carillon_session=", "carillon_known=a.", "; "]) { text in
            let request = request(("Cookie", text))
            _ = access.viewer(of: request)
            _ = access.knownCookie(mayChange: true, for: request)
        },
        head("a trusted proxy", ["anna", "a.example", "http://"]) { text in
            let request = request(("X-User", text), ("Host", text), ("Origin", text), ("X-Forwarded-Host", text))
            _ = proxied.refusal(of: request)
            _ = proxied.viewer(of: request)
        },
        head("X-Forwarded-For", ["10.0.0.2", "2001:db8::1", "::ffff:10.0.0.2", ", ", ","]) { text in
            _ = AttemptLimits.source(of: request(("X-Forwarded-For", text)), known: nil, proxy: proxy)
        },
        head("many X-Forwarded-For", ["10.0.0.2\n", "2001:db8::1\n", "\n"]) { text in
            let headers = text.split(separator: "\n").map { (name: "X-Forwarded-For", value: String($0)) }
            _ = proxy.client(of: Request(method: "GET", path: "/", headers: headers, peer: "10.0.0.2"))
        },
        head("authorization", ["Basic ", "Bearer ", "QQ==", "OmE=", "="]) { text in
            guard let token = try? AccessToken("0123456789abcdef") else { return }
            _ = token.admits(text)
            _ = token.admits("Basic " + text)
            _ = token.admits("Bearer " + text)
        },
        head("media types", ["application/json", "text/html", ";q=", ", ", "*/*"]) { text in
            let request = request(("Accept", text), ("Content-Type", text))
            _ = (request.wantsJSON, request.mediaType)
        },
        head("tags", ["\"a\"", "W/", ", "]) { text in
            _ = request(("If-None-Match", text)).header("If-None-Match")?.split(separator: ",")
        },
    ]

    // MARK: Bodies

    private static let calls = [
        "<methodCall><methodName>notify</methodName><params>", "<param><value>", "</value></param>",
        "<value><string>", "</string></value>", "<array><data>", "</data></array>", "<struct>", "</struct>",
        "<member><name>", "</name><value>", "</value></member>", "<!--", "-->", "<![CDATA[", "]]>", "<!DOCTYPE a>",
        "&amp;", "&#x41;", "<base64>", "QQ==", "</base64>", "<double>", "</double>", "<dateTime.iso8601>",
    ]
    private static let pem = [
        "-----BEGIN CERTIFICATE-----\n", "-----END CERTIFICATE-----\n", "-----BEGIN PRIVATE KEY-----\n", "-----", "\n",
        "-----END PRIVATE KEY-----\n", "-----BEGIN ENCRYPTED PRIVATE KEY-----\n", "Proc-Type: 4,ENCRYPTED\n", "MIIB",
    ]

    private static let bodies = [
        OpenReader("login form", ["password=", "name=", "next=%2Fapps", "+"]) { _ = LoginForm($0) },
        // All that the dashboard itself reads of a call of the API: PostgreSQL reads the body once it knows the token.
        OpenReader("body of a call", ["{\"tokens\":[\"aa\"],", "\"alert\":\"hi\"}"]) { bytes in
            _ = try? APICall(request(ofProgram: bytes), to: .unversioned)
        },
        OpenReader("parameters of a call", ["owner", "=", "&", "n=1", "wait=30", "id", "-", "%00", "+"]) { bytes in
            guard let query = FormFields.read(bytes),
                query.allSatisfy({ $0.name.isCheapToCompare && $0.value.isCheapToCompare })
            else { return }
            let path = ["app": "demo", "id": query.first?.value ?? "1", "channel": query.last?.value ?? "x"]
            let request = request(ofProgram: [], query: query).with(path)
            for route in APIRoute.all where !route.parameters.isEmpty {
                _ = try? APICall(request, to: route).parameters.text
            }
        },
        OpenReader("XML-RPC", calls) { _ = try? XMLRPCCall($0) },
        OpenReader("text of an XML-RPC call", calls + ["\u{300}"]) { bytes in
            _ = try? XMLRPCCall(call("m", ["<string>" + String(decoding: bytes, as: UTF8.self) + "</string>"]))
        },
        OpenReader("notify", ["<value>aa</value>", "<value/>", "<value> </value>"]) { bytes in
            let tokens = "<array><data>\(String(decoding: bytes, as: UTF8.self))</data></array>"
            // One for each token.
            let count = bytes.ranges(of: "<value>aa</value>".utf8).count
            let payloads = "<array><data>\(String(repeating: "<value><struct/></value>", count: count))</data></array>"
            guard let call = try? XMLRPCCall(call("notify", ["app", tokens, payloads])) else { return }
            var parameters = CallParameters(call)
            _ = try? NotifyCall(&parameters).sqlParameters
        },
        OpenReader("provision", pem) { bytes in
            // As Python 3 sends it.
            let text = "<base64>" + Data(bytes).base64EncodedString() + "</base64>"
            guard let call = try? XMLRPCCall(call("provision", ["app", text, "production", "<int>15</int>"])) else {
                return
            }
            var parameters = CallParameters(call)
            guard let provision = try? ProvisionCall(&parameters, folder: nil) else { return }
            _ = try? CredentialText(certificate: provision.certificate).credential()
        },
        OpenReader("PEM", pem) { bytes in
            _ = try? CredentialText(certificate: String(decoding: bytes, as: UTF8.self)).credential()
        },
        OpenReader(
            "metrics",
            ["Push Type,Status,Date (UTC),Count\n", "alert,x,2026-01-01,1\n", "2026-01-01", "\"", ","]
        ) { bytes in
            var reader = MetricsReader(now: 1_796_040_000_000_000)
            var counts: [MetricsReader.Count] = []
            var refusals: [RefusedLine] = []
            reader.feed(bytes[...])
            reader.finish()
            while (try? reader.read(&counts, &refusals)) == false { (counts, refusals) = ([], []) }
        },
        OpenReader(
            "answers of the export service",
            ["{\"statusUrl\":\"https://", "\",\"status\":\"SUCCESS", "[", "{", "1e9"]
        ) {
            bytes in
            guard let service = ServiceURL("https://a.example") else { return }
            let token = MetricsStore.ExportToken(app: "a", topic: "b", token: "c", teamID: "ABCDE12345")
            let rules = ExportRules(service: service, token: token, allowsPrivate: false)
            for status in [200, 400] {
                _ = try? rules.statusURL(.answered(status: status, retryAfter: nil, body: bytes))
                _ = try? rules.state(.answered(status: status, retryAfter: nil, body: bytes))
            }
            _ = ServiceURL("https://" + String(decoding: bytes, as: UTF8.self))
        },
        OpenReader("channels", ["{\"channels\":[", "\"dHN0LXNyY2gtY2hubA==\",", "]}", "[", "{", "}", "1e9"]) { bytes in
            for action in [ChannelRequest.Action.list, .read(ChannelID("QQ=="))] {
                let exchange = ChannelExchange(ChannelRequest(action, of: "com.example.app"))
                for status in [200, 400] as [UInt16] {
                    _ = try? exchange.answer(status: status, channelID: "", retryAfter: nil, body: bytes.span.bytes)
                }
            }
        },
    ]

    private static func call(_ method: String, _ values: [String]) -> [UInt8] {
        let parameters = values.map { "<param><value>\($0)</value></param>" }.joined()
        return Array("<methodCall><methodName>\(method)</methodName><params>\(parameters)</params></methodCall>".utf8)
    }
}

import Testing

@testable import ApplePush

/// Limits that no connection could keep are refused when a backend is made.
@Suite struct LimitCheckTests {
    @Test func `the limits that nobody has changed are valid`() {
        #expect(HTTP2Configuration().check.mistake == nil)
        #expect(BinaryConfiguration().check.mistake == nil)
    }

    @Test func `a limit that is not above zero is named, with what it takes`() {
        var http2 = HTTP2Configuration()
        http2.connections = 0
        #expect(http2.check.mistake == "HTTP2Configuration.connections takes a number above 0, got 0.")
        http2 = HTTP2Configuration()
        http2.requestTimeout = .zero
        #expect(
            http2.check.mistake == "HTTP2Configuration.requestTimeout takes a duration above zero, got 0.0 seconds."
        )
        var binary = BinaryConfiguration()
        binary.window = -1
        #expect(binary.check.mistake == "BinaryConfiguration.window takes a number above 0, got -1.")
    }

    @Test func `a delay may be zero, and not negative`() {
        var http2 = HTTP2Configuration()
        (http2.pingAfter, http2.idleTimeout, http2.topicBindingAge) = (.zero, .zero, .zero)
        #expect(http2.check.mistake == nil)
        http2.idleTimeout = .seconds(-1)
        #expect(
            http2.check.mistake
                == "HTTP2Configuration.idleTimeout takes a duration that is not negative, got -1.0 seconds."
        )
    }
}

import CarillonIO
import Testing

@testable import ApplePush

/// Which provider token is in use, and when another is fetched.
@Suite struct AuthorizationsTests {
    private let start = MonotonicInstant.now

    private func token(_ name: String) -> ProviderToken { ProviderToken(jwt: name, issuedAt: 0) }

    private func using(_ name: String, renewed isRenewed: Bool = false, for time: Duration = .seconds(3000))
        -> Authorizations
    {
        var authorizations = Authorizations()
        let authorization = Authorization(token: token(name), isRenewed: isRenewed, since: start)
        authorizations.adopt(authorization, for: time)
        return authorizations
    }

    @Test func `a token is fetched at first, and when the one in use is due for renewal`() {
        #expect(Authorizations().isDue(at: start))
        let authorizations = using("one", for: .seconds(100))
        #expect(!authorizations.isDue(at: start + .seconds(99)))
        #expect(authorizations.isDue(at: start + .seconds(100)))
        #expect(authorizations.current?.token.jwt == "one", "until there is another")
    }

    @Test func `after a failed fetch the token in use stays, and another fetch follows soon`() {
        var authorizations = using("one", for: .seconds(100))
        authorizations.failed(at: start + .seconds(100))
        #expect(!authorizations.isDue(at: start + .seconds(101)))
        #expect(authorizations.isDue(at: start + .seconds(105)))
        #expect(authorizations.current?.token.jwt == "one")
    }

    @Test func `a refused token is no longer in use`() {
        var authorizations = using("one")
        let mustAsk = authorizations.refused(token("one"), at: start)
        #expect(mustAsk)
        #expect(authorizations.current == nil)
        #expect(authorizations.isDue(at: start))
    }

    @Test func `a refusal of a replaced token has no effect`() {
        var authorizations = using("two")
        let mustAsk = authorizations.refused(token("one"), at: start)
        #expect(!mustAsk)
        #expect(authorizations.current?.token.jwt == "two")
    }

    @Test func `a renewed token that is refused as well is kept for a while before another is fetched`() {
        var authorizations = using("two", renewed: true)
        let asksAtOnce = authorizations.refused(token("two"), at: start + .seconds(1))
        #expect(!asksAtOnce)
        #expect(authorizations.current?.token.jwt == "two")
        let asksLater = authorizations.refused(token("two"), at: start + Authorizations.minimumUse)
        #expect(asksLater)
        #expect(authorizations.current == nil)
    }

    @Test func `after too many new tokens none is fetched for a while, even if the one in use is due or refused`() {
        var authorizations = using("one", for: .seconds(100))
        authorizations.keepCurrent(at: start)
        #expect(!authorizations.isDue(at: start + .seconds(200)))
        let mustAsk = authorizations.refused(token("one"), at: start + .seconds(200))
        #expect(!mustAsk)
        #expect(authorizations.current?.isRenewed == true, "its pushes are not sent again at once")
        // This does not prolong it.
        authorizations.keepCurrent(at: start + .seconds(300))
        let end = start + .seconds(ProviderToken.minimumAge)
        #expect(authorizations.isDue(at: end))
        let asksAfterwards = authorizations.refused(token("one"), at: end)
        #expect(asksAfterwards)
    }
}

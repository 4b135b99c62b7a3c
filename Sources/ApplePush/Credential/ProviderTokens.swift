/// The provider tokens of one key, one after the other.
final class ProviderTokens: Sendable {
    let key: ProviderTokenKey
    private let supply: ProviderToken.Supply?

    init(key: ProviderTokenKey, supply: ProviderToken.Supply?) {
        self.key = key
        self.supply = supply
    }
}

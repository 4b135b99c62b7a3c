/// How much work it is to open an encrypted private key: what its header asks for, and whoever wrote the text chose that.
///
/// OpenSSL does whatever is asked, be it for hours, on the thread that loads the credential. Where the header is none that
/// can be read here, OpenSSL must not try.
struct KeyDerivation {
    /// Rounds of PBKDF2, and of its forerunners: several times what anybody recommends, and about half a second.
    static let roundsLimit = 2_000_000
    /// Blocks that scrypt mixes: sixteen times what OpenSSL makes it do.
    static let blocksLimit = 1 << 21

    private static let passwordEncryption2: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x05, 0x0D]
    private static let scrypt: [UInt8] = [0x2B, 0x06, 0x01, 0x04, 0x01, 0xDA, 0x47, 0x04, 0x0B]

    /// What is counted, in words.
    let unit: String
    let count: Int
    let limit: Int

    var isAffordable: Bool { self.count <= self.limit }

    /// Of an EncryptedPrivateKeyInfo (RFC 5958) in DER; nil if it is none.
    init?(ofKey bytes: [UInt8]) {
        let outer = DERReader.elements(of: bytes[...])
        guard outer.count == 1, let parts = Self.sequence(outer[0]), parts.count == 2,
            parts[1].tag == DERReader.octetString, let algorithm = Self.algorithm(parts[0])
        else { return nil }
        if algorithm.name != Self.passwordEncryption2 {
            self.init(rounds: algorithm.parameters)
        } else if let function = algorithm.parameters.first.flatMap(Self.algorithm) {
            if function.name == Self.scrypt {
                self.init(blocks: function.parameters)
            } else {
                self.init(rounds: function.parameters)
            }
        } else {
            return nil
        }
    }

    /// Salt and count come first, in PBKDF2 and in all before it.
    private init?(rounds parameters: [DERReader.Element]) {
        guard parameters.count >= 2, let rounds = Self.number(parameters[1]) else { return nil }
        (self.unit, self.count, self.limit) = ("rounds of key derivation", rounds, Self.roundsLimit)
    }

    /// Salt, N, r and p (RFC 7914).
    private init?(blocks parameters: [DERReader.Element]) {
        guard parameters.count >= 4 else { return nil }
        var count = 1
        for element in parameters[1...3] {
            guard let factor = Self.number(element) else { return nil }
            let (product, isTooLarge) = count.multipliedReportingOverflow(by: factor)
            count = isTooLarge ? .max : product
        }
        (self.unit, self.count, self.limit) = ("blocks of scrypt", count, Self.blocksLimit)
    }

    private static func sequence(_ element: DERReader.Element) -> [DERReader.Element]? {
        element.tag == DERReader.sequence ? DERReader.elements(of: element.content) : nil
    }

    private static func algorithm(
        _ element: DERReader.Element
    ) -> (name: [UInt8], parameters: [DERReader.Element])? {
        guard let parts = Self.sequence(element), parts.count == 2, parts[0].tag == DERReader.objectIdentifier,
            let parameters = Self.sequence(parts[1])
        else { return nil }
        return (Array(parts[0].content), parameters)
    }

    /// A whole number that is not negative, or the largest that there is.
    private static func number(_ element: DERReader.Element) -> Int? {
        guard element.tag == DERReader.integer, let first = element.content.first, first < 0x80 else { return nil }
        let digits = element.content.drop { $0 == 0 }
        return digits.count < 8 ? digits.reduce(0) { $0 << 8 | Int($1) } : .max
    }
}

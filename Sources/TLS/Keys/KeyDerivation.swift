/// The cost of decrypting a private key, as stated in its header. The author of the text chooses it.
///
/// OpenSSL would spend whatever the header demands, even hours, on the thread that loads the credential. A key whose header cannot
/// be read here is therefore not passed to OpenSSL.
struct KeyDerivation {
    /// Rounds of PBKDF2 or its predecessors: several times the recommended number, about half a second.
    static let roundsLimit = 2_000_000
    /// Blocks that scrypt mixes: sixteen times OpenSSL's default number.
    static let blocksLimit = 1 << 21

    private static let passwordEncryption2: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x05, 0x0D]
    private static let scrypt: [UInt8] = [0x2B, 0x06, 0x01, 0x04, 0x01, 0xDA, 0x47, 0x04, 0x0B]

    /// What is counted.
    let unit: String
    let count: Int
    let limit: Int

    var isAffordable: Bool { count <= limit }

    /// Reads an EncryptedPrivateKeyInfo (RFC 5958) in DER; nil if the bytes are something else.
    init?(ofKey bytes: [UInt8]) {
        let outer = DER.elements(of: bytes[...])
        guard outer.count == 1, let parts = Self.sequence(outer[0]), parts.count == 2,
            parts[1].tag == DER.octetString, let algorithm = Self.algorithm(parts[0])
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

    /// In PBKDF2 and its predecessors, the salt and the count come first.
    private init?(rounds parameters: [DER.Element]) {
        guard parameters.count >= 2, let rounds = Self.number(parameters[1]) else { return nil }
        (unit, count, limit) = ("rounds of key derivation", rounds, Self.roundsLimit)
    }

    /// The parameters are salt, N, r and p (RFC 7914).
    private init?(blocks parameters: [DER.Element]) {
        guard parameters.count >= 4 else { return nil }
        var count = 1
        for element in parameters[1...3] {
            guard let factor = Self.number(element) else { return nil }
            let (product, isTooLarge) = count.multipliedReportingOverflow(by: factor)
            count = isTooLarge ? .max : product
        }
        (unit, self.count, limit) = ("blocks of scrypt", count, Self.blocksLimit)
    }

    private static func sequence(_ element: DER.Element) -> [DER.Element]? {
        element.tag == DER.sequence ? DER.elements(of: element.content) : nil
    }

    private static func algorithm(_ element: DER.Element) -> (name: [UInt8], parameters: [DER.Element])? {
        guard let parts = Self.sequence(element), parts.count == 2, parts[0].tag == DER.objectIdentifier,
            let parameters = Self.sequence(parts[1])
        else { return nil }
        return (Array(parts[0].content), parameters)
    }

    /// A non-negative number, clamped to the largest `Int`.
    private static func number(_ element: DER.Element) -> Int? {
        guard element.tag == DER.integer, let first = element.content.first, first < 0x80 else { return nil }
        let digits = element.content.drop { $0 == 0 }
        return digits.count < 8 ? digits.reduce(0) { $0 << 8 | Int($1) } : .max
    }
}

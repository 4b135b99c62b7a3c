/// An address of IPv4 or IPv6, of which it is known who may have it.
package struct NetworkAddress: Sendable, CustomStringConvertible {
    /// What is not a host of the public internet: addresses of this machine, of private networks, for many receivers, and for
    /// special purposes (RFC 6890 and IANA's registries). The list in public_addresses.sql is made from it.
    static let reserved: [(prefix: [UInt8], bits: Int)] = [
        ([0], 8), ([10], 8), ([100, 64], 10), ([127], 8), ([169, 254], 16), ([172, 16], 12), ([192, 0, 0], 24),
        ([192, 0, 2], 24), ([192, 88, 99], 24), ([192, 168], 16), ([198, 18], 15), ([198, 51, 100], 24),
        ([203, 0, 113], 24), ([224], 3),
    ]
    /// Within 2000::/3. 2001::/23 and 2002::/16 include tunnels to any IPv4 address.
    static let reserved6: [(prefix: [UInt8], bits: Int)] = [
        ([0x20, 0x01, 0x00], 23), ([0x20, 0x01, 0x0d, 0xb8], 32), ([0x20, 0x02], 16), ([0x3f, 0xff], 20),
    ]
    /// What stands before an IPv4 address: mapped addresses, and those of NAT64 (RFC 6052).
    private static let embedding: [[UInt8]] = [
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff], [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0],
    ]

    private let bytes: [UInt8]

    /// - Parameter bytes: 4 or 16 of them.
    package init(_ bytes: [UInt8]) {
        precondition(bytes.count == 4 || bytes.count == 16, "an address has 4 or 16 bytes")
        self.bytes =
            Self.embedding.contains { bytes.count == 16 && bytes.starts(with: $0) }
            ? Array(bytes.suffix(4)) : bytes
    }

    /// Whether it may be a host of the public internet.
    package var isPublic: Bool {
        if bytes.count == 4 { return !Self.reserved.contains { isIn($0.prefix, $0.bits) } }
        return isIn([0x20], 3) && !Self.reserved6.contains { isIn($0.prefix, $0.bits) }
    }

    private func isIn(_ prefix: [UInt8], _ bits: Int) -> Bool {
        (0..<bits).allSatisfy { bit in
            let place = bit / 8
            let other = place < prefix.count ? prefix[place] : 0
            return (bytes[place] ^ other) & (0x80 >> UInt8(bit % 8)) == 0
        }
    }

    package var description: String {
        if bytes.count == 4 { return bytes.map { String($0) }.joined(separator: ".") }
        return stride(from: 0, to: 16, by: 2)
            .map { String(Int(bytes[$0]) << 8 | Int(bytes[$0 + 1]), radix: 16) }.joined(separator: ":")
    }
}

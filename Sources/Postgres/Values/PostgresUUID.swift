/// The two halves of a `uuid`.
package struct PostgresUUID: PostgresValue {
    package static var type: PostgresType { .uuid }

    private let high: UInt64
    private let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package func write(to bytes: inout [UInt8]) {
        bytes.append(bigEndian: high)
        bytes.append(bigEndian: low)
    }
}

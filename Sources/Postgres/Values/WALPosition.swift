/// How much of a cluster's write-ahead log is safe on disk. A crash does not shorten it.
package struct WALPosition: Sendable, Equatable {
    /// The system identifier.
    package let cluster: Int64
    /// Another one begins when a standby is promoted, or a backup is restored to a point in time.
    package let timeline: Int32
    /// In bytes.
    package let flushed: Int64

    package init(cluster: Int64, timeline: Int32, flushed: Int64) {
        self.cluster = cluster
        self.timeline = timeline
        self.flushed = flushed
    }

    package func isShorter(than other: WALPosition) -> Bool { timeline < other.timeline || flushed < other.flushed }

    /// As PostgreSQL writes it.
    package var text: String {
        "\(String(UInt64(flushed) >> 32, radix: 16, uppercase: true))/"
            + String(UInt64(flushed) & 0xFFFF_FFFF, radix: 16, uppercase: true)
    }
}

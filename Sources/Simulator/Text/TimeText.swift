import CarillonPOSIX

/// RFC 3339 in UTC with milliseconds. The text is made once for each millisecond.
struct TimeText {
    private var milliseconds = Int64.min
    private(set) var bytes: [UInt8] = []

    /// Milliseconds since 1970.
    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    mutating func set(_ now: Int64) {
        guard now != milliseconds else { return }
        milliseconds = now
        var seconds = time_t(now / 1000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        var text = [CChar](repeating: 0, count: 24)
        let count = strftime(&text, text.count, "%Y-%m-%dT%H:%M:%S.", &parts)
        bytes = text.prefix(count).map { UInt8(bitPattern: $0) }
        bytes.append(contentsOf: String(1000 + now % 1000).utf8.dropFirst())
        bytes.append(UInt8(ascii: "Z"))
    }
}

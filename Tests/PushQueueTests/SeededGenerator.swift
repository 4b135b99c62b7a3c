/// Random numbers that are the same every time (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        self.state = seed
    }

    mutating func next() -> UInt64 {
        self.state &+= 0x9e37_79b9_7f4a_7c15
        var word = self.state
        word = (word ^ (word &>> 30)) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ (word &>> 27)) &* 0x94d0_49bb_1331_11eb
        return word ^ (word &>> 31)
    }
}

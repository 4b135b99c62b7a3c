enum Suggestion {
    /// The nearest of the words, if it is near enough for a typing error.
    static func nearest(to word: String, among words: [String]) -> String? {
        let allowed = max(1, word.count / 3)
        return words.map { (word: $0, distance: distance(word, $0)) }
            .filter { $0.distance <= allowed || ($0.word.hasPrefix(word) && word.count >= 3) }
            .min { ($0.distance, $0.word) < ($1.distance, $1.word) }?
            .word
    }

    /// The edit distance: insertions, deletions, substitutions and transpositions of neighbours.
    static func distance(_ left: String, _ right: String) -> Int {
        let left = Array(left.utf8)
        let right = Array(right.utf8)
        var beforeLast = [Int](repeating: 0, count: right.count + 1)
        var last = Array(0...right.count)
        for i in left.indices {
            var row = [i + 1]
            for j in right.indices {
                var best = min(last[j + 1] + 1, row[j] + 1, last[j] + (left[i] == right[j] ? 0 : 1))
                if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                    best = min(best, beforeLast[j - 1] + 1)
                }
                row.append(best)
            }
            (beforeLast, last) = (last, row)
        }
        return last[right.count]
    }
}

import CarillonIO
import CarillonPostgres
import CarillonPushRules
import TestSupport
import Testing

@testable import Carillon

@Suite struct SortedTokensTests {
    private struct Line: Equatable {
        var token: String
        var lastUpdate: Int64?
        var owner: String?
        var kind: TokenKind?

        init(_ token: String, _ lastUpdate: Int64? = nil, _ owner: String? = nil, _ kind: TokenKind? = nil) {
            (self.token, self.lastUpdate, self.owner, self.kind) = (token, lastUpdate, owner, kind)
        }

        init(_ token: String, _ lastUpdate: Int64?, _ owner: String?, kind: String) {
            self.init(token, lastUpdate, owner, TokenKind(rawValue: kind))
        }
    }

    private static let now: Int64 = 1_000

    private static func sorted(_ lines: [Line]) -> SortedTokens {
        var batch = TokenBatch(now: now)
        for line in lines {
            batch.append(
                token: Array(line.token.utf8)[...],
                lastUpdate: line.lastUpdate,
                owner: line.owner.map { Array($0.utf8)[...] },
                kind: line.kind
            )
        }
        return SortedTokens(batch)
    }

    private static func newest(_ lines: [Line]) -> [Line] {
        let sorted = Self.sorted(lines)
        return sorted.lines.map { line in
            Line(
                String(decoding: sorted.text(line.token), as: UTF8.self),
                line.lastUpdate,
                line.owner.map { String(decoding: sorted.text($0), as: UTF8.self) },
                line.kind
            )
        }
    }

    @Test func `tokens come in the order of their bytes, whatever their lengths`() {
        let sorted = [
            "00", "0000", "000000000000", "0000000000000001", "0000000000000002", "000000000000000200", "0a", "ff",
        ]
        #expect(Self.newest(sorted.reversed().map { Line($0) }).map(\.token) == sorted)
    }

    @Test func `the newest line of a token wins, and of equal times the last`() {
        #expect(Self.newest([Line("aa", 2, "b"), Line("aa", 3, "c"), Line("aa", 1, "a")]) == [Line("aa", 3, "c")])
        #expect(Self.newest([Line("aa", 3, "c"), Line("aa", 3, "d")]) == [Line("aa", 3, "d")])
    }

    @Test func `a line without a time is one of now`() {
        #expect(Self.newest([Line("aa", nil, "a"), Line("aa", 999, "b")]) == [Line("aa", nil, "a")])
        #expect(Self.newest([Line("aa", nil, "a"), Line("aa", 1_001, "b")]) == [Line("aa", 1_001, "b")])
    }

    @Test func `a line without an owner or a kind keeps the newest that the token has`() {
        let lines = [
            Line("aa", 1, "old", kind: "voip"), Line("aa", 4), Line("aa", 2, "new"), Line("aa", 3, nil, kind: "widget"),
            Line("ab", 9, "other"),
        ]
        #expect(Self.newest(lines) == [Line("aa", 4, "new", kind: "widget"), Line("ab", 9, "other")])
    }

    @Test func `tokens are of devices unless a line names another kind`() {
        #expect(Self.sorted([Line("aa"), Line("ab", 1, "me", kind: "device")]).areOfDevices)
        #expect(!Self.sorted([Line("aa"), Line("ab", 1, "me", kind: "live_activity")]).areOfDevices)
        #expect(!Self.sorted([Line("aa", 2), Line("aa", 1, nil, kind: "voip")]).areOfDevices)
    }

    @Test func `any order of lines gives what a dictionary gives`() {
        for seed in UInt64(0)..<300 {
            var random = SeededGenerator(seed: seed)
            // Times differ, so that the order of the lines does not matter.
            let lines = (0..<Int.random(in: 0...60, using: &random)).map { time in
                Line(
                    String(repeating: "0", count: 2 * Int.random(in: 1...6, using: &random))
                        + "a\(Int.random(in: 0...3, using: &random))",
                    Int64(time),
                    Bool.random(using: &random) ? "owner \(time)" : nil,
                    Bool.random(using: &random) ? TokenKind.all.randomElement(using: &random) : nil
                )
            }
            var expected: [String: Line] = [:]
            for line in lines {
                let before = expected[line.token]
                expected[line.token] = Line(
                    line.token,
                    line.lastUpdate,
                    line.owner ?? before?.owner,
                    line.kind ?? before?.kind
                )
            }
            let newest = Self.newest(lines.shuffled(using: &random))
            #expect(newest == expected.values.sorted { $0.token < $1.token }, "seed \(seed)")
        }
    }
}

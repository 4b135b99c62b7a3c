/// What arrives of answers, within the limits of the settings.
extension ClientStreams {
    /// A field of the header block that is being received.
    mutating func fieldArrived(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) -> Verdict {
        guard self.receiving != ClientSlot.none else { return .fine }
        let index = Int(self.receiving)
        self.slots[index].fieldCount &+= 1
        self.slots[index].fieldBytes &+= UInt32(truncatingIfNeeded: name.count &+ value.count)
        guard
            Int(self.slots[index].fieldCount) <= self.settings.fieldCountLimit,
            Int(self.slots[index].fieldBytes) <= self.settings.fieldBytesLimit
        else {
            return .fail(HTTP2Error(.limitExceeded, "the peer's answer has more header fields than anyone needs"))
        }
        guard !self.slots[index].flags.contains(.hasStatus) else { return .fine }  // trailers
        if name.count == 7, name[0] == UInt8(ascii: ":") {
            // The protocol engine lets nothing pass but three digits, once, in front.
            self.slots[index].status = value.reduce(0) { $0 &* 10 &+ UInt16($1 &- 48) }
        } else if name.count == 11, name.elementsEqual("retry-after".utf8) {
            self.slots[index].retryAfter = Self.seconds(value)
        } else {
            self.keep(name, value, index)
        }
        return .fine
    }

    /// The header block is complete.
    mutating func headerEnded(_ index: UInt32, endsStream: Bool) -> Verdict {
        self.receiving = ClientSlot.none
        let slot = Int(index)
        guard !self.slots[slot].flags.contains(.reported) else { return .fine }
        if self.slots[slot].flags.contains(.hasStatus) {
            // Trailers: they bring nothing that we keep.
        } else if self.slots[slot].status / 100 == 1 {
            self.slots[slot].interimCount &+= 1
            self.slots[slot].status = 0
            self.slots[slot].retryAfter = -1
            self.slots[slot].keptCount = 0
            self.slots[slot].kept = InlineArray(repeating: ClientSlot.Piece())
            guard Int(self.slots[slot].interimCount) <= self.settings.interimLimit else {
                return .fail(HTTP2Error(.limitExceeded, "the peer keeps sending interim answers"))
            }
        } else if self.slots[slot].status < 200 {
            self.report(index, .ended(slot: index, .protocolError, .closed, isSurelyUnprocessed: false))
            return .reset(.protocolError)
        } else {
            self.slots[slot].flags.insert(.hasStatus)
        }
        return endsStream ? self.answerEnded(index) : .fine
    }

    /// A piece of an answer's body.
    mutating func bodyArrived(_ index: UInt32, _ bytes: UnsafeBufferPointer<UInt8>) -> Verdict {
        let slot = Int(index)
        guard !self.slots[slot].flags.contains(.reported) else { return .fine }
        if self.slots[slot].page == ClientSlot.none { self.slots[slot].page = self.takePage() }
        let received = Int(self.slots[slot].received)
        let count = min(bytes.count, self.settings.bodyLimit - received)
        let start = Int(self.slots[slot].page) * self.settings.bodyLimit + received
        self.pages.withUnsafeMutableBufferPointer { pages in
            _ = UnsafeMutableBufferPointer(rebasing: pages[start..<start + count]).update(from: bytes.prefix(count))
        }
        self.slots[slot].received += UInt32(count)
        guard count < bytes.count, self.slots[slot].flags.contains(.hasStatus) else { return .fine }
        self.slots[slot].flags.insert(.truncated)
        self.report(index, .answered(slot: index))
        return .reset(.cancel)
    }

    /// The peer has said all it will say on the stream.
    mutating func answerEnded(_ index: UInt32) -> Verdict {
        let slot = Int(index)
        self.slots[slot].flags.insert(.answerEnded)
        // As a rule the stream closes at once and is reported then. An answer that came before our request was out
        // is complete too, and the rest of the request need not follow.
        guard self.slots[slot].flags.isDisjoint(with: [.requestEnded, .reported]),
            self.slots[slot].flags.contains(.hasStatus)
        else { return .fine }
        self.report(index, .answered(slot: index))
        return .reset(.cancel)
    }

    /// Copies a field that the settings want, if there is room for it.
    private mutating func keep(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>,
        _ slot: Int
    ) {
        for place in self.keptNames.indices where self.keptNames[place].count == name.count {
            guard self.keptNames[place].elementsEqual(name) else { continue }
            let start = Int(self.slots[slot].keptCount)
            guard !value.isEmpty, start + value.count <= ClientSlot.keptRoom else { return }
            let position = slot * ClientSlot.keptRoom + start
            self.keptBytes.withUnsafeMutableBufferPointer { kept in
                _ = UnsafeMutableBufferPointer(rebasing: kept[position..<position + value.count]).update(from: value)
            }
            self.slots[slot].kept[place] = ClientSlot.Piece(start: UInt8(start), count: UInt8(value.count))
            self.slots[slot].keptCount += UInt8(value.count)
            return
        }
    }

    /// A number of seconds; a date, which Apple does not send, counts as nothing said.
    private static func seconds(_ digits: UnsafeBufferPointer<UInt8>) -> Int32 {
        guard (1...9).contains(digits.count), digits.allSatisfy({ (48...57).contains($0) }) else { return -1 }
        return digits.reduce(0) { $0 * 10 + Int32($1 - 48) }
    }
}

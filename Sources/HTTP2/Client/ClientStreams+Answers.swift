import CarillonIO

/// Receives answers, within the limits of the settings.
extension ClientStreams {
    /// A field of the header block that is being received.
    mutating func fieldArrived(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) -> Reaction {
        guard receiving != ClientSlot.none else { return .fine }
        let index = Int(receiving)
        slots[index].fieldCount &+= 1
        slots[index].fieldBytes &+= UInt32(truncatingIfNeeded: name.count &+ value.count)
        guard
            Int(slots[index].fieldCount) <= settings.fieldCountLimit,
            Int(slots[index].fieldBytes) <= settings.fieldBytesLimit
        else {
            return .fail(HTTP2Error(.limitExceeded, "the peer's answer has too many header fields"))
        }
        guard !slots[index].flags.contains(.hasStatus) else { return .fine }  // trailers
        if name.count == 7, name[0] == UInt8(ascii: ":") {
            // nghttp2 has checked that `:status` appears once, before all other fields, and has three digits.
            slots[index].status = value.reduce(0) { $0 &* 10 &+ UInt16($1 &- 48) }
        } else if name.count == 11, name.elementsEqual("retry-after".utf8) {
            slots[index].retryAfter = Self.seconds(value)
        } else {
            keep(name, value, index)
        }
        return .fine
    }

    mutating func headerEnded(_ index: UInt32, endsStream: Bool) -> Reaction {
        receiving = ClientSlot.none
        let slot = Int(index)
        guard !slots[slot].flags.contains(.reported) else { return .fine }
        if slots[slot].flags.contains(.hasStatus) {
            // Trailers are not kept.
        } else if slots[slot].status / 100 == 1 {
            slots[slot].interimCount &+= 1
            slots[slot].status = 0
            slots[slot].retryAfter = -1
            slots[slot].keptCount = 0
            slots[slot].kept = HTTP2Response.KeptFields(repeating: .empty)
            guard Int(slots[slot].interimCount) <= settings.interimLimit else {
                return .fail(HTTP2Error(.limitExceeded, "the peer keeps sending interim answers"))
            }
        } else if slots[slot].status < 200 {
            report(index, .ended(slot: index, .protocolError, .closed, isSurelyUnprocessed: false))
            return .reset(.protocolError)
        } else {
            slots[slot].flags.insert(.hasStatus)
            if slots[slot].status == 200, !endsStream { begun(index) }
        }
        return endsStream ? answerEnded(index) : .fine
    }

    mutating func bodyArrived(_ index: UInt32, _ bytes: UnsafeBufferPointer<UInt8>) -> Reaction {
        let slot = Int(index)
        guard !slots[slot].flags.contains(.reported) else { return .fine }
        if slots[slot].page == ClientSlot.none { slots[slot].page = takePage() }
        let received = Int(slots[slot].received)
        let count = min(bytes.count, settings.bodyLimit - received)
        let start = Int(slots[slot].page) * settings.bodyLimit + received
        self.pages.withUnsafeMutableBufferPointer { pages in
            _ = UnsafeMutableBufferPointer(rebasing: pages[start..<start + count]).update(from: bytes.prefix(count))
        }
        slots[slot].received += UInt32(count)
        guard count < bytes.count, slots[slot].flags.contains(.hasStatus) else { return .fine }
        slots[slot].flags.insert(.truncated)
        report(index, .answered(slot: index))
        return .reset(.cancel)
    }

    mutating func answerEnded(_ index: UInt32) -> Reaction {
        let slot = Int(index)
        slots[slot].flags.insert(.answerEnded)
        // Usually the stream closes at once and is reported then. If the answer came before the request was fully drained, the
        // answer is complete all the same, and the rest of the request is not sent.
        guard slots[slot].flags.isDisjoint(with: [.requestEnded, .reported]),
            slots[slot].flags.contains(.hasStatus)
        else { return .fine }
        report(index, .answered(slot: index))
        return .reset(.cancel)
    }

    /// Copies the field if it is one to keep and there is room for it.
    private mutating func keep(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, _ slot: Int) {
        for place in keptNames.indices where keptNames[place].count == name.count {
            guard keptNames[place].elementsEqual(name) else { continue }
            let start = Int(slots[slot].keptCount)
            guard !value.isEmpty, start + value.count <= ClientSlot.keptRoom else { return }
            let position = slot * ClientSlot.keptRoom + start
            keptBytes.withUnsafeMutableBufferPointer { kept in
                _ = UnsafeMutableBufferPointer(rebasing: kept[position..<position + value.count]).update(from: value)
            }
            slots[slot].kept[place] = ByteRange(start: position, count: value.count)
            slots[slot].keptCount += UInt8(value.count)
            return
        }
    }

    /// A number of seconds; a date, which Apple does not send, is ignored.
    private static func seconds(_ digits: UnsafeBufferPointer<UInt8>) -> Int32 {
        guard (1...9).contains(digits.count), digits.allSatisfy({ (48...57).contains($0) }) else { return -1 }
        return digits.reduce(0) { $0 * 10 + Int32($1 - 48) }
    }
}

/// A queue that does not move all its elements at every removal.
package struct Fifo<Element> {
    private var elements: [Element?] = []
    private var head = 0

    package init() {}

    package var count: Int { elements.count - head }
    package var isEmpty: Bool { count == 0 }

    package var first: Element? {
        get { isEmpty ? nil : elements[head] }
        set { if !isEmpty, let newValue { elements[head] = newValue } }
    }

    package var last: Element? {
        get { isEmpty ? nil : elements[elements.count - 1] }
        set { if !isEmpty, let newValue { elements[elements.count - 1] = newValue } }
    }

    package mutating func append(_ element: Element) { elements.append(element) }

    package mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = elements[head].take()
        head += 1
        // Moving the rest once half is gone costs one move per element on average.
        if head * 2 >= elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }
}

extension Fifo: Sendable where Element: Sendable {}

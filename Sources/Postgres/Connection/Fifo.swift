/// First in, first out, without moving the rest at every step.
struct Fifo<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var count: Int { self.elements.count - self.head }
    var isEmpty: Bool { self.count == 0 }

    var first: Element? {
        get { self.isEmpty ? nil : self.elements[self.head] }
        set { if !self.isEmpty, let newValue { self.elements[self.head] = newValue } }
    }

    var last: Element? {
        get { self.isEmpty ? nil : self.elements[self.elements.count - 1] }
        set { if !self.isEmpty, let newValue { self.elements[self.elements.count - 1] = newValue } }
    }

    mutating func append(_ element: Element) {
        self.elements.append(element)
    }

    mutating func popFirst() -> Element? {
        guard !self.isEmpty else { return nil }
        let element = self.elements[self.head].take()
        self.head += 1
        // Half of it is behind us: moving the other half now costs one move an element over its life.
        if self.head * 2 >= self.elements.count {
            self.elements.removeFirst(self.head)
            self.head = 0
        }
        return element
    }
}

/// A queue in an array, which gives up the places of removed elements in batches.
struct FIFO<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var first: Element? { head < elements.count ? elements[head] : nil }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func removeFirst() -> Element? {
        guard head < elements.count else { return nil }
        let element = elements[head].take()
        head += 1
        if head == elements.count || head >= 1024 {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }
}

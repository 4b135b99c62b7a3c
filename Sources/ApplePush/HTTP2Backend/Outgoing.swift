import CarillonHTTP2
import CarillonIO

/// Writes a connection's requests. The header block and the body of a message are kept in the session while consecutive pushes
/// belong to that message.
struct Outgoing {
    private let authority: String
    private var token: ProviderToken?
    private var delivery: Int?
    private var heading: Int32 = -1
    private var fieldsNumber: Int32 = -1
    private var fields: PushFields?
    private var fieldsID: ClientSession.FieldsID?
    private var bodyID: ClientSession.BodyID?
    private var id: [UInt8] = []
    /// Whether the heading is for channels, whose requests name the channel in a field instead of the path.
    private var isForChannels = false

    init(authority: String, token: ProviderToken?) {
        self.authority = authority
        self.token = token
    }

    /// Further pushes carry this provider token.
    mutating func use(_ token: ProviderToken) {
        self.token = token
        delivery = nil
    }

    mutating func submit(
        _ position: Int,
        of run: DeliveryQueue.Run,
        tag: UInt32,
        to session: ClientSession
    ) throws(HTTP2Error) -> ClientSession.Submission {
        let push = run.batch.pushes[position]
        if push.heading != heading || run.serial != delivery { try change(to: push, of: run, in: session) }
        guard let fieldsID = self.fieldsID else { throw HTTP2Error(.invalidField, "the fields of a push are missing") }
        id.removeAll(keepingCapacity: true)
        push.id.write(into: &id)
        let bytes = run.batch.bytes
        // Safe: the arrays stay alive and unchanged during the call.
        return try unsafe session.submit(
            fieldsID,
            pathSuffix: bytes.span.bytes.extracting(isForChannels ? 0..<0 : push.token.range),
            varying: id.span.bytes,
            body: bodyID,
            tag: tag
        )
    }

    /// Switches to another message. Its header fields are often the same as the previous one's.
    private mutating func change(
        to push: PushBatch.Push,
        of run: DeliveryQueue.Run,
        in session: ClientSession
    ) throws(HTTP2Error) {
        let number = push.heading
        let isSameDelivery = run.serial == delivery
        // If this throws, the next push must try again.
        delivery = nil
        let heading = run.batch.headings[Int(number)]
        let shared = run.batch.fields[Int(heading.fields)]
        isForChannels = shared.pushType == .channel
        if !isSameDelivery || heading.fields != fieldsNumber || isForChannels {
            let channel = isForChannels ? push.token : nil
            let fields = PushFields(shared, in: run.batch.bytes, channel: channel, token: token)
            if fields != self.fields {
                let block = try session.addFields(fields.block(authority: authority))
                if let old = fieldsID { session.release(old) }
                fieldsID = block
                self.fields = fields
            }
            fieldsNumber = heading.fields
        }
        if let old = bodyID { session.release(old) }
        let bytes = run.batch.bytes
        // Safe: the array stays alive and unchanged during the call.
        bodyID = unsafe session.addBody(bytes.span.bytes.extracting(heading.payload.range))
        // Each push to a channel has its own fields.
        self.heading = isForChannels ? -1 : number
        delivery = run.serial
    }
}

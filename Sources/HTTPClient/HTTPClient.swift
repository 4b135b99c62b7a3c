import CarillonCCURL
import CarillonIO

/// Sends requests to servers that nobody has to trust, with libcurl, on a thread of its own. The thread starts with the first
/// request, and so does libcurl: nothing that a server does holds up another thread.
package final class HTTPClient: Sendable {
    private struct Order: Sendable {
        let request: HTTPRequest
        let answer: CheckedContinuation<HTTPOutcome, Never>
    }

    private struct State {
        var orders: [Order] = []
        /// Nil before the first request, and once the thread is about to end.
        var multi: Multi?
        var isStopped = false
    }

    /// Safe, because only the client's thread uses it, but for `curl_multi_wakeup`, which any thread may call.
    private struct Multi: @unchecked Sendable {
        let handle: UnsafeMutableRawPointer
    }

    private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    private let proxy: String?
    private let state = Guarded(State())

    /// - Parameter proxy: its URL. With one, it is the proxy that looks up names and connects, so it has to refuse addresses.
    /// An empty one is none: libcurl would use none, and addresses would not be checked.
    package init(proxy: String? = nil) { self.proxy = proxy.flatMap { $0.isEmpty ? nil : $0 } }

    package func send(_ request: HTTPRequest) async -> HTTPOutcome {
        await withCheckedContinuation { answer in
            let outcome = state.withLock { state -> HTTPOutcome? in
                if state.isStopped { return .stopped }
                do throws(IOError) {
                    let multi = if let multi = state.multi { multi } else { try start() }
                    state.multi = multi
                    state.orders.append(Order(request: request, answer: answer))
                    curl_multi_wakeup(multi.handle)
                    return nil
                } catch {
                    return .failed(error.message)
                }
            }
            if let outcome { answer.resume(returning: outcome) }
        }
    }

    /// Ends all requests, and refuses others.
    package func stop() {
        state.withLock { state in
            state.isStopped = true
            if let multi = state.multi { curl_multi_wakeup(multi.handle) }
        }
    }

    private func start() throws(IOError) -> Multi {
        guard Self.isReady, let handle = curl_multi_init() else {
            throw IOError(.exhausted, "libcurl cannot be started")
        }
        let multi = Multi(handle: handle)
        // Not joined: it may be waiting for a name that is being looked up.
        do throws(IOError) { try Thread.detach(name: "http") { self.run(multi) } } catch {
            curl_multi_cleanup(handle)
            throw error
        }
        return multi
    }

    // MARK: On the thread

    private func run(_ multi: Multi) {
        var open: [UnsafeMutableRawPointer: (transfer: Transfer, answer: CheckedContinuation<HTTPOutcome, Never>)] = [:]
        while true {
            let (orders, isStopped) = state.withLock { state in
                defer { state.orders = [] }
                return (state.orders, state.isStopped)
            }
            for order in orders {
                guard let transfer = Transfer(order.request, proxy: proxy),
                    curl_multi_add_handle(multi.handle, transfer.easy) == CURLM_OK
                else {
                    order.answer.resume(returning: .failed("libcurl does not take the request"))
                    continue
                }
                open[transfer.easy] = (transfer, order.answer)
            }
            if isStopped { break }
            var running: CInt = 0
            curl_multi_perform(multi.handle, &running)
            var left: CInt = 0
            while let message = curl_multi_info_read(multi.handle, &left) {
                guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
                    let ended = open.removeValue(forKey: easy)
                else { continue }
                let outcome = ended.transfer.outcome(message.pointee.data.result)
                curl_multi_remove_handle(multi.handle, easy)
                ended.answer.resume(returning: outcome)
            }
            // libcurl's own timers end the wait too.
            curl_multi_poll(multi.handle, nil, 0, open.isEmpty ? 3_600_000 : 1_000, nil)
        }
        for (transfer, answer) in open.values {
            curl_multi_remove_handle(multi.handle, transfer.easy)
            answer.resume(returning: .stopped)
        }
        state.withLock { $0.multi = nil }
        curl_multi_cleanup(multi.handle)
    }
}

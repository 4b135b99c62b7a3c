import ApplePushSimulator
import CarillonIO
import CarillonTLS
import TestSupport
import Testing

/// Rows that are too large for a claim, for the server or for anything.
@Suite struct SizeCases {
    @Test(.scene)
    func `P13: rows with one huge token end as malformed, and the rows behind them are sent`() async throws {
        // Values from another table may stay compressed: 200 MB are 2 MB there.
        let megabytes = Board.sized(20, full: 200)
        try await scene.client.run(
            """
            CREATE TABLE public.stage (tokens text[]);
            INSERT INTO public.stage SELECT ARRAY[repeat('a', \(megabytes) << 20)];
            CREATE TABLE public.words (payload json);
            INSERT INTO public.words SELECT to_json(repeat('x', \(megabytes) << 20));
            CREATE FUNCTION public.bound() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF pg_catalog.pg_column_size(NEW.jobs) > 4 << 20 THEN
                    RAISE EXCEPTION 'a claim of % bytes', pg_catalog.pg_column_size(NEW.jobs);
                END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER bound BEFORE INSERT ON carillon.inflight FOR EACH ROW EXECUTE FUNCTION public.bound()
            """
        )
        let kept = String(repeating: "a", count: 444) + "…"
        let staged =
            kept
            + (try await scene.client.text(
                "SELECT encode(sha256(convert_to(s.tokens[1], 'UTF8')), 'hex') FROM public.stage s"
            ))
        let large =
            kept + (try await scene.client.text("encode(sha256(convert_to(repeat('a', 5000000), 'UTF8')), 'hex')"))
        var rows = (0..<6).map { _ in
            OddRow("tokens", "(SELECT s.tokens FROM public.stage s)", .refused("MalformedToken"), tokens: [staged])
        }
        rows += (0..<6).map { _ in
            OddRow("payload", "(SELECT w.payload FROM public.words w)", .refused("PayloadTooLarge"))
        }
        // As large, and not compressed.
        rows.append(OddRow("tokens", "ARRAY[repeat('a', 5000000)]", .refused("MalformedToken"), tokens: [large]))
        try await scene.digest(rows)
        #expect(
            try await scene.client.number(
                "SELECT count(*) FROM public.stage s WHERE pg_column_size(s.tokens) < 4000000"
            ) == 1
        )
    }

    @Test(.scene) func `P14: a claim that is too large for the server is halved until it fits`() async throws {
        try await scene.client.run(
            """
            CREATE FUNCTION public.narrow() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF pg_catalog.cardinality(NEW.jobs) > 7 THEN
                    RAISE EXCEPTION 'out of memory' USING ERRCODE = 'program_limit_exceeded';
                END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER narrow BEFORE INSERT ON carillon.inflight FOR EACH ROW EXECUTE FUNCTION public.narrow()
            """
        )
        try await scene.enqueue(300)
        try await scene.fleet.started(lease: Fleet.calm)
        try await scene.finish()
    }

    @Test(arguments: [[], ["--web"]])
    func `P18: a worker's memory is bounded while all rows in flight are as large as rows can be`(
        flags: [String]
    ) async throws {
        try await Scene.with({ $0.delay = .seconds(2) }) { scene in
            let count = 9000
            let reference = String(repeating: "r", count: 1000)
            // The largest payload that a push type may have.
            let payload = #"{"aps":{"alert":"Board"},"x":"\#(String(repeating: "x", count: 5120 - 32))"}"#
            let topic = Scene.topic + ".voip"
            try await scene.certify([Scene.topic, topic])
            try await scene.client.run(
                """
                INSERT INTO carillon.messages (app_id, tokens, payload, push_type, topic, reference, collapse_id)
                SELECT a.id, ARRAY[lpad(to_hex(n), 64, '0')], '\(payload)'::json, 'voip', '\(topic)',
                    '\(reference)' || n, lpad(n::text, 64, '0')
                FROM carillon.apps a, generate_series(1, \(count)) n
                """
            )
            scene.ledger.committed(
                (1...count).map { number in
                    Ledger.Message(
                        reference: "\(reference)\(number)",
                        tokens: [Scene.token("", number)],
                        payload: payload,
                        mayRepeat: true,
                        topic: topic
                    )
                }
            )
            let worker = try await scene.fleet.started(flags, lease: Fleet.calm)
            try await scene.drained()
            let memory = try #require(worker.mostMemory) >> 20
            print("fault board: P18: \(memory) MB at most")
            #expect(memory < 100 || Sanitizer.isLoaded)
            try await scene.finish()
        }
    }

    /// As JSON, each character of the references has six bytes.
    @Test(.scene)
    func `P18: a worker's memory is bounded while receivers of webhooks hold the largest batches`() async throws {
        let silent = try SilentPort(host: "127.0.0.1")
        try await scene.client.run(
            #"""
            SELECT carillon.add_webhook('w' || i, a.name, 'https://127.0.0.1:\#(silent.port)/', '{sent}', true)
            FROM carillon.apps a, generate_series(1, 75) i;
            UPDATE carillon.webhooks SET paused_reason = 'until all events are there';
            INSERT INTO carillon.messages (app_id, tokens, payload, reference)
            SELECT a.id, ARRAY[lpad(to_hex(n), 64, '0')], '{"aps":{"alert":"x"}}', repeat(E'\x01', 1024)
            FROM carillon.apps a, generate_series(1, 600) n
            """#
        )
        let worker = try await scene.fleet.started(lease: Fleet.calm)
        try await scene.drained()
        try await scene.client.run("SELECT carillon.resume_webhook(w.name) FROM carillon.webhooks w")
        try await scene.eventually("each webhook was attempted") {
            try await scene.client.number("SELECT count(*) FROM carillon.webhooks WHERE attempts > 0") == 75
        }
        let memory = try #require(worker.mostMemory) >> 20
        print("fault board: P18: batches of webhooks: \(memory) MB at most")
        #expect(memory < 100 || Sanitizer.isLoaded)
        #expect(try await worker.stop() == .status(0), "\(worker.last)")
    }

    @Test(arguments: LargeShape.all)
    func `P18: a worker's memory is bounded whatever shape rows have`(shape: LargeShape) async throws {
        try await Scene.with({ $0.delay = .seconds(2) }) { scene in
            try await scene.sign(with: try SigningKey.generate())
            try await scene.client.run("UPDATE carillon.apps SET topic = '\(LargeShape.longTopic)'")
            // All of them have one key.
            try await scene.client.run(
                """
                INSERT INTO carillon.apps (name, topic, certificate_id, gateway, gateway_ca)
                SELECT 'app' || i, 'com.example.app' || i, a.certificate_id, a.gateway, a.gateway_ca
                FROM carillon.apps a, generate_series(2, \(shape.apps)) i
                """
            )
            try await scene.client.run(
                """
                INSERT INTO carillon.messages
                    (app_id, lane, tokens, payload, payloads, push_type, topic, reference, collapse_id)
                SELECT i.app[1 + n % \(shape.apps)], \(shape.lane), \(shape.tokens), \(shape.payload ?? "NULL"), \(shape.payloads),
                    '\(shape.pushType)', \(shape.topic), repeat('r', 1000) || n, \(shape.collapseID)
                FROM (SELECT array_agg(a.id) AS app FROM carillon.apps a) i, generate_series(1, \(shape.rows)) n
                """
            )
            let worker = try await scene.fleet.started(lease: Fleet.calm)
            try await scene.drained()
            let memory = try #require(worker.mostMemory) >> 20
            print("fault board: P18: \(shape.name): \(memory) MB at most")
            #expect(memory < 100 || Sanitizer.isLoaded)
            #expect(try await worker.stop() == .status(0), "\(worker.last)")
            let counts = try await scene.client.text(
                "SELECT sum(r.sent) || ' ' || sum(r.failed) FROM carillon.results r"
            )
            let all = shape.rows * shape.pushes
            #expect(counts == (shape.reason == nil ? "\(all) 0" : "0 \(all)"))
            let reasons = try await scene.client.text(
                "SELECT string_agg(DISTINCT f.reason, ',') FROM carillon.failures f"
            )
            #expect(reasons == shape.reason ?? "")
        }
    }
}

// The table of cases for node-postgres, which leaves every type to the server and makes JSON of objects.
"use strict";
const { Client } = require("pg");
const { isDeepStrictEqual } = require("util");

const alert = { title: "Hello", body: "a, b: c" };
const payload = { aps: { alert }, k: [1, 2.5, null] };
const tokens = ["ab".repeat(32), "cd".repeat(32)];
const shown = { aps: { alert } };
const cases = [
  ["alert", "enqueue", { tokens, alert: "Hello" }, { payload: { aps: { alert: "Hello" } } }],
  ["alert as object", "enqueue", { tokens, alert }, { payload: shown }],
  ["alert as text", "enqueue", { tokens, alert: JSON.stringify(alert) }, { payload: shown }],
  ["broadcast as object", "broadcast", { alert }, { payload: shown, lane: 2 }],
  ["payload as object", "enqueue", { tokens, payload }, { payload }],
  ["payload as text", "enqueue", { tokens, payload: JSON.stringify(payload) }, { payload }],
  ["payloads as objects", "enqueue", { tokens, payloads: [shown, payload] }, { payload }],
  ["payloads as text", "enqueue", { tokens, payloads: [shown, payload].map((one) => JSON.stringify(one)) }, { payload }],
  // Nobody has registered this token: its badge is counted from 0 each time.
  ["counted badge", "enqueue", { tokens: ["ef".repeat(32)], alert: "x", badge_add: 3 },
    { payload: { aps: { alert: "x", badge: 3 } } }],
  ["lines", "enqueue", { tokens, title: "T", body: "{B}" }, { payload: { aps: { alert: { title: "T", body: "{B}" } } } }],
  ["numbers plain", "enqueue", { tokens, alert: "x", badge: 1, priority: 5, lane: 0 },
    { payload: { aps: { alert: "x", badge: 1 } }, priority: 5, lane: 0 }],
  ["numbers as BigInt", "enqueue", { tokens, alert: "x", badge: 2147483647n },
    { payload: { aps: { alert: "x", badge: 2147483647 } } }],
  ["nulls", "enqueue", { tokens, alert: "x", badge: null, extra: null, payload: null, lane: null, run_at: undefined },
    { payload: { aps: { alert: "x" } }, lane: 1 }],
  ["no tokens", "enqueue", { tokens: [], alert: "x" }, null],
  ["extra", "enqueue", { tokens, alert: "x", extra: { order: 7 } }, { payload: { aps: { alert: "x" }, order: 7 } }],
  ["times and flags", "enqueue", { tokens, alert: "x", content_available: true, expires_at: new Date("2100-01-01Z") },
    { payload: { aps: { alert: "x", "content-available": 1 } }, expires: true }],
];

async function judge(client, [, name, values, expected]) {
  const named = Object.keys(values).map((key, index) => `${key} => $${index + 2}`).join(", ");
  const answer = await client.query(`SELECT carillon.${name}(app => $1, ${named}) AS id`, ["demo", ...Object.values(values)]);
  const id = answer.rows[0].id;
  if (expected === null) return id === null ? null : `returned ${id}, not null`;
  const found = await client.query(
    "SELECT coalesce(payload, payloads[2]) AS payload, lane, priority, expires_at IS NOT NULL AS expires FROM carillon.messages WHERE id = $1", [id]);
  for (const [key, value] of Object.entries(expected)) {
    if (!isDeepStrictEqual(found.rows[0][key], value)) return `${key} is ${JSON.stringify(found.rows[0][key])}`;
  }
  return null;
}

async function main() {
  const driver = `node-postgres ${require("pg/package.json").version} (${process.argv[2]})`;
  const client = new Client();
  await client.connect();
  for (const one of cases) {
    const fault = await judge(client, one).catch((error) => error.message.replace(/\s+/g, " "));
    console.log([fault ? "FAILED" : "ok", driver, one[0], fault || ""].join("\t"));
  }
  await client.end();
}

main();

"""The HTTP API of carillon web, as programs of others see it: a client that openapi-python-client generates from its OpenAPI
document, and the requests that schemathesis makes from it. Prints a line for each case, like the others."""

import importlib
import json
import os
import subprocess
import sys
import urllib.request

TOKEN = "ab" * 32


def main(carillon, psql, folder):
    scripts = os.path.dirname(sys.executable)

    def run(*words):
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError("%s: %d %s" % (words[1:3], done.returncode, (done.stderr or done.stdout)[-2000:]))
        return done.stdout.strip()

    def sql(text):
        return run(psql, "-qtAX", "-v", "ON_ERROR_STOP=1", "-c", text)

    sql("INSERT INTO carillon.apps (name, topic) VALUES ('api', 'com.example.api')")
    sql("SELECT carillon.subscribe('api', 'tour')")
    key = run(carillon, "api-token", "create", "--app", "api", "--right", "send", "--right", "read", "--right", "tokens",
              "--right", "forget", "it")
    server = subprocess.Popen([carillon, "web", "--http", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
    for line in server.stderr:
        port = json.loads(line).get("port")
        if port:
            break
    url = "http://127.0.0.1:%d" % port
    try:
        with urllib.request.urlopen(url + "/openapi.json") as document:
            with open(folder + "/openapi.json", "wb") as file:
                file.write(document.read())
        name = "openapi-python-client (PyPI)"
        for case in tour(scripts, folder, url, key, run):
            try:
                case()
                print("ok", name, case.__name__.replace("_", " "), "", sep="\t", flush=True)
            except Exception as error:
                print("FAILED", name, case.__name__.replace("_", " "), repr(error), sep="\t", flush=True)
        found = fuzz(scripts, folder, url, key)
        print("FAILED" if found else "ok", "schemathesis (PyPI)", "no request is answered otherwise than the document says",
              found, sep="\t", flush=True)
    finally:
        server.terminate()
        server.communicate()


def tour(scripts, folder, url, key, run):
    with open(folder + "/client.yml", "w") as file:
        file.write("post_hooks: []\n")
    run(
        scripts + "/openapi-python-client", "generate", "--path", folder + "/openapi.json", "--config", folder + "/client.yml",
        "--output-path", folder + "/client",
    )
    sys.path.insert(0, folder + "/client")
    made = importlib.import_module("carillon_client")
    client = made.AuthenticatedClient(base_url=url, token=key)

    def call(operation, body=None, status=200, **words):
        module = importlib.import_module("carillon_client.api.default." + operation)
        if body is not None:
            model = "".join(word.capitalize() for word in operation.split("_")) + "Body"
            words["body"] = getattr(importlib.import_module("carillon_client.models"), model).from_dict(body)
        answer = module.sync_detailed("api", client=client, **words)
        assert int(answer.status_code) == status, (int(answer.status_code), answer.content)
        return answer.parsed

    def a_token_is_registered_and_listed():
        call("register_token", {"token": TOKEN, "owner": "u-1"}, 204)
        tokens = call("list_tokens", owner="u-1").tokens
        assert [token.token for token in tokens] == [TOKEN], tokens

    def a_message_is_enqueued_once_for_its_key():
        body = {"tokens": [TOKEN], "alert": {"title": "hi"}, "reference": "r-1", "run_at": "2100-01-01T00:00:00Z"}
        first = call("enqueue", body, 201, idempotency_key="k")
        again = call("enqueue", body, 200, idempotency_key="k")
        assert (first.id, first.is_new, again.is_new) == (again.id, True, False), (first, again)
        assert call("broadcast", {"alert": "hi"}, 201).is_new

    def a_message_is_found_traced_and_cancelled():
        found = call("find_messages", reference="r-1").messages
        assert [message.state for message in found] == ["scheduled"], found
        assert call("trace", reference="r-1").trace
        assert call("cancel", {"reference": "r-1"}).jobs == 1

    def events_come_again_until_they_are_acknowledged():
        first = call("get_events", consumer="tour", wait=30)
        assert [event.kind for event in first.events] == ["finished"], first
        assert call("get_events", consumer="tour").events == first.events
        assert call("acknowledge_events", {"consumer": "tour", "cursor": first.cursor}).events == 1
        assert call("get_events", consumer="tour").events == []

    def a_channel_is_requested_and_removed():
        assert call("request_channel", {"reference": "match 7"}).reference == "match 7"
        assert [channel.state for channel in call("list_channels").channels] == ["requested"]
        call("remove_channel", channel="match 7", status=204)

    def a_badge_is_set():
        assert call("set_badge", {"owner": "u-1", "badge": 3}).tokens == 1
        assert [token.badge for token in call("list_tokens", owner="u-1").tokens] == [3]

    def a_person_is_forgotten():
        call("register_token", {"token": "cd" * 32, "owner": "u-2"}, 204)
        erased = {table.kind: table.removed for table in call("forget", {"owner": "u-2"}).forgotten}
        assert erased["tokens"] == 1, erased
        assert call("list_tokens", owner="u-2").tokens == []

    def a_token_is_removed():
        assert call("unregister_token", owner="u-1").tokens == 1

    return [
        a_token_is_registered_and_listed, a_message_is_enqueued_once_for_its_key, a_message_is_found_traced_and_cancelled,
        events_come_again_until_they_are_acknowledged, a_channel_is_requested_and_removed, a_badge_is_set,
        a_person_is_forgotten, a_token_is_removed,
    ]


def fuzz(scripts, folder, url, key):
    """What schemathesis finds. Arguments that fit the schema may still be refused: the schema does not say what Apple allows."""
    with open(folder + "/schemathesis.toml", "w") as file:
        file.write('[parameters]\n"path.app" = "api"\n"query.consumer" = "tour"\n"query.wait" = 0\n')
    done = subprocess.run(
        [
            scripts + "/schemathesis", "--config-file", folder + "/schemathesis.toml", "--no-color", "run",
            url + "/openapi.json", "--url", url, "--header", "Authorization: Bearer " + key, "--checks", "all",
            "--exclude-checks", "positive_data_acceptance", "--max-time", os.environ.get("SECONDS", "60"),
        ],
        capture_output=True, text=True, cwd=folder,
    )
    if not done.returncode:
        return ""
    with open(folder + "/schemathesis.txt", "w") as file:
        file.write(done.stdout + done.stderr)
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    failures = [line for line in lines if line.startswith(("- ", "❌"))]
    return "; ".join((failures or lines[-3:])[:5])


main(*sys.argv[1:])

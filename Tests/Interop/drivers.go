// The table of cases for lib/pq, which leaves every type to the server.
package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/lib/pq"
)

type test struct {
	name, function, arguments string
	values                    []interface{}
	payload                   string
	lane                      int
}

func main() {
	driver := "lib/pq (" + os.Args[1] + ")"
	database, err := sql.Open("postgres", "sslmode=disable")
	if err != nil {
		panic(err)
	}
	tokens := pq.Array([]string{strings.Repeat("ab", 32), strings.Repeat("cd", 32)})
	// Nobody has registered it: its badge is counted from 0 each time.
	unknown := pq.Array([]string{strings.Repeat("ef", 32)})
	alert := `{"title":"Hello","body":"a, b: c"}`
	shown := `{"aps":{"alert":` + alert + `}}`
	plain := `{"aps":{"alert":"x"}}`
	later := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	tests := []test{
		{"alert", "enqueue", "tokens alert", []interface{}{tokens, "x"}, plain, 1},
		{"alert as text", "enqueue", "tokens alert", []interface{}{tokens, alert}, shown, 1},
		{"alert as bytes", "enqueue", "tokens alert", []interface{}{tokens, []byte(alert)}, shown, 1},
		{"broadcast as text", "broadcast", "alert", []interface{}{alert}, shown, 2},
		{"payload as text", "enqueue", "tokens payload", []interface{}{tokens, shown}, shown, 1},
		{"payload as bytes", "enqueue", "tokens payload", []interface{}{tokens, []byte(shown)}, shown, 1},
		{"payloads as text", "enqueue", "tokens payloads", []interface{}{tokens, pq.Array([]string{plain, shown})}, shown, 1},
		{"counted badge", "enqueue", "tokens alert badge_add", []interface{}{unknown, "x", 3}, `{"aps":{"alert":"x","badge":3}}`, 1},
		{"lines", "enqueue", "tokens title body", []interface{}{tokens, "T", "B"}, `{"aps":{"alert":{"title":"T","body":"B"}}}`, 1},
		{"numbers plain", "enqueue", "tokens alert badge priority lane", []interface{}{tokens, "x", 1, int16(5), int64(0)},
			`{"aps":{"alert":"x","badge":1}}`, 0},
		{"nulls", "enqueue", "tokens alert badge extra payload lane run_at", []interface{}{tokens, "x", nil, nil, nil, nil, nil}, plain, 1},
		{"no tokens", "enqueue", "tokens alert", []interface{}{pq.Array([]string{}), "x"}, "", 0},
		{"extra", "enqueue", "tokens alert extra", []interface{}{tokens, "x", `{"order": 7}`}, `{"aps":{"alert":"x"},"order":7}`, 1},
		{"times and flags", "enqueue", "tokens alert expires_at content_available", []interface{}{tokens, "x", later, true},
			`{"aps":{"alert":"x","content-available":1}}`, 1},
	}
	for _, one := range tests {
		verdict, fault := "ok", judge(database, one)
		if fault != "" {
			verdict = "FAILED"
		}
		fmt.Println(strings.Join([]string{verdict, driver, one.name, strings.ReplaceAll(fault, "\n", " ")}, "\t"))
	}
}

func judge(database *sql.DB, one test) string {
	named := []string{"app => $1"}
	for index, name := range strings.Fields(one.arguments) {
		named = append(named, fmt.Sprintf("%s => $%d", name, index+2))
	}
	var id sql.NullInt64
	query := "SELECT carillon." + one.function + "(" + strings.Join(named, ", ") + ")"
	if err := database.QueryRow(query, append([]interface{}{"demo"}, one.values...)...).Scan(&id); err != nil {
		return err.Error()
	}
	if one.payload == "" || !id.Valid {
		if id.Valid == (one.payload != "") {
			return ""
		}
		return fmt.Sprint("returned ", id)
	}
	var payload string
	var lane int
	err := database.QueryRow("SELECT coalesce(payload, payloads[2])::text, lane FROM carillon.messages WHERE id = $1", id.Int64).Scan(&payload, &lane)
	if err != nil {
		return err.Error()
	}
	var found, expected interface{}
	if json.Unmarshal([]byte(payload), &found) != nil || json.Unmarshal([]byte(one.payload), &expected) != nil ||
		!reflect.DeepEqual(found, expected) || lane != one.lane {
		return fmt.Sprint("is ", payload, " in lane ", lane)
	}
	return ""
}

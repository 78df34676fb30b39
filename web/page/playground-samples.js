/**
 * Texts to start from: each dialect, and what goes wrong. `auto` reads those that name no dialect.
 */

/** @typedef {{name: string, text: string, dialect?: string, model?: string, tools?: string}} Sample */

/** @type {Sample[]} */
export const SAMPLES = [
  {
    name: "emoji-bracket, with two problems",
    text: `I’ll write the script first, then ask for the numbers.

🛠️[create-file greet.py utf-8]
def greet(name):
    return f"Hello, {name}!"

print(greet("world"))
🛠️[/end]

That file is done. 🛠️[/end]

Now the numbers:

🛠️[run-query main.sql 100]
SELECT name, count(*)
FROM visits
GROUP BY name
ORDER BY 2 DESC;
🛠️[/end]

🛠️[create-file notes.md]
# Notes
Still writing when the text stops`,
  },
  {
    name: "emoji-bracket+",
    dialect: "emoji-bracket+",
    text: `Two looks and one file, the looks on one line each.

🛠️[list-files src /]
🛠️[read-file src/main.py 1 40 /]

🛠️[create-file todo.md]
- split the parser
- test it by characters
🛠️[/end]
`,
  },
  {
    name: "tool-fence",
    text: `The log first, then the lock file.

\`\`\`tool read_file c1
input:
  path: logs/nightly-04.log
  lines: 40
\`\`\`

\`\`\`tool write_file c2
input:
  path: notes/build.md
  text: |
    # Why the build is red
    \`wheel\` is pinned to 0.43.0.
\`\`\`

I wait for both.
`,
  },
  {
    name: "scissors-cat",
    text: `[
  {
    "type": "search",
    "id": "s1",
    "operation": "search",
    "parameters": {"query": "supplier invoices March", "limit": 5}
  },
  {
    "type": "search",
    "id": "s2",
    "operation": "search",
    "parameters": {"query": "supplier invoices April", "limit": 5}
  }
]

✂️🐱

I look for the invoices of both months. ✨
`,
  },
  {
    name: "chat-blocks",
    text: `Here is what I found.

<tool id="c1">list_files(path=reports)
q1.csv
q2.csv</tool>

<tool id="c2">read_file(path=reports/q3.csv)
✗ no such file</tool>

<tool id="c3">run_query(sql=SELECT count(*) FROM visits)</tool>

Two quarters are there, the third is missing.
`,
  },
  {
    name: "Llama’s bare JSON",
    model: "llama-3.1-8b-instruct",
    tools: "get_weather, get_tides",
    text: `{"name": "get_weather", "parameters": {"city": "Oslo", "days": 3}};
{"name": "get_tides", "parameters": {"place": "Holm Island", "date": "2026-11-17"}}; {"name": "get_ferry", "parameters": {"from": "Holm`,
  },
  {
    name: "calls that nothing opens",
    text: `I ask for both at once.

{"name": "get_weather", "arguments": {"city": "Oslo"}}
{"name": "get_tides", "arguments": {"place": "Holm Island"}}
`,
  },
  {
    name: "several dialects in one text",
    text: `First this way:

\`\`\`tool search c1
input:
  query: flaky tests
\`\`\`

Then that way:

🛠️[ls tests/unit]
🛠️[/end]

And shown as a chat shows it:

<tool id="c9">pwd()
/app</tool>
`,
  },
  {
    name: "broken on purpose",
    text: `A fence whose YAML is none:

\`\`\`tool write_file c1
- this is a list
\`\`\`

A name that comes twice:

\`\`\`tool search c2
input:
  query: one
\`\`\`

\`\`\`tool search c2
input:
  query: two
\`\`\`

Quoted, so not a call:

\`\`\`text
🛠️[ls src]
🛠️[/end]
\`\`\`

And one that never ends:

🛠️[create-file half.md]
# Half`,
  },
];

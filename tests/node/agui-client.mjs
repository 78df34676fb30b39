// Drives the client of AG-UI, as a page would: agui-client.mjs URL TOKEN TEXT ANSWER
//
// It says TEXT in a thread, answers each interrupt with ANSWER ("yes" or "no"), and tells all that
// came: events, messages, state, and what its verifier found.

import { HttpAgent } from "@ag-ui/client";

const [url, token, text, answer] = process.argv.slice(2);
const events = [];
const faults = [];
const runs = [];
const warn = console.warn;
console.warn = (...words) => faults.push(words.join(" "));

const agent = new HttpAgent({
  url,
  threadId: "trip",
  headers: { authorization: `Bearer ${token}` },
});
agent.messages = [{ id: "user-1", role: "user", content: text }];

const subscriber = {
  onEvent: ({ event }) => {
    events.push(event);
  },
  onRunFailed: ({ error }) => {
    faults.push(String(error));
  },
};

let resume;
for (let run = 1; run < 10; run += 1) {
  const before = events.length;
  await agent.runAgent({ runId: `run-${run}`, ...(resume ? { resume } : {}) }, subscriber);
  const last = events.at(-1);
  runs.push(events.slice(before).map((event) => event.type));
  if (last?.type !== "RUN_FINISHED" || last.outcome?.type !== "interrupt") break;
  resume = last.outcome.interrupts.map((one) => ({
    interruptId: one.id,
    status: "resolved",
    payload: { approved: answer === "yes" },
  }));
}
console.warn = warn;
console.log(JSON.stringify({ events, runs, messages: agent.messages, state: agent.state, faults }));

// Drives the chat client of one version of the `ai` package, as a page would.
//
//   node client.mjs ai6
//
// Reads one JSON object a line and answers with one: a chat that sends a message or resumes a
// stream, answers what it is asked, and tells every state that each call was in.

import { createInterface } from "node:readline";

const ai = await import(process.argv[2]);
const WAIT = 10_000;

class State {
  constructor(messages) {
    this.messages = messages;
    this.status = "ready";
    this.error = undefined;
    this.calls = {};
    this.writes = 0;
    this.snapshot = (value) => structuredClone(value);
    this.pushMessage = (message) => {
      this.messages = this.messages.concat(message);
      this.note(message);
    };
    this.popMessage = () => {
      this.messages = this.messages.slice(0, -1);
    };
    this.replaceMessage = (index, message) => {
      this.messages = this.messages.with(index, this.snapshot(message));
      this.note(message);
    };
  }

  note(message) {
    this.writes += 1;
    for (const part of toolParts(message)) {
      const states = (this.calls[part.toolCallId] ??= []);
      if (states.at(-1) !== part.state) states.push(part.state);
    }
  }
}

class Chat extends ai.AbstractChat {
  constructor({ messages = [], ...options }) {
    super({ ...options, state: new State(messages) });
  }
}

const toolParts = (message) => message.parts.filter((part) => part.toolCallId !== undefined);
const SENDS = {
  approvals: ai.lastAssistantMessageIsCompleteWithApprovalResponses,
  tools: ai.lastAssistantMessageIsCompleteWithToolCalls,
};

async function until(holds) {
  const end = Date.now() + WAIT;
  while (!holds()) {
    if (Date.now() > end) throw new Error("nothing happened");
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

async function answer(chat, answers, byHand) {
  const having = (state) => toolParts(chat.lastMessage).filter((part) => part.state === state);
  for (const said of answers) {
    const [asked] = having("approval-requested");
    await chat.addToolApprovalResponse({ id: asked.approval.id, ...said });
    if (byHand) await chat.sendMessage();
    // A client sends answers by itself once it has them all.
    else if (having("approval-requested").length && chat.status === "ready") continue;
    await until(() => !having("approval-responded").length && chat.status === "ready");
  }
}

// Go away as soon as the input of a call is there; the server is not told.
async function leave(chat, call) {
  await until(() => chat.state.calls[call]?.at(-1) === "input-available");
  await chat.stop();
}

async function perform(asked) {
  const { url, chat: id, text, messages, headers } = asked;
  const { answers = [], sends, byHand, resume, leaves } = asked;
  const told = { errors: [], data: [], posts: [], called: [] };
  const transport = new ai.DefaultChatTransport({
    api: url,
    headers,
    fetch: (address, init) => {
      if (init.method === "POST") told.posts.push(JSON.parse(init.body));
      return fetch(address, init);
    },
  });
  const chat = new Chat({
    id,
    messages,
    transport,
    sendAutomaticallyWhen: sends && SENDS[sends],
    onError: (error) => told.errors.push(error.message),
    onData: (part) => told.data.push(part),
    onToolCall: ({ toolCall }) => void told.called.push(toolCall.toolCallId),
  });
  const going = resume ? chat.resumeStream() : chat.sendMessage({ text });
  if (leaves) await leave(chat, leaves);
  await going;
  await answer(chat, answers, byHand);
  const { calls, writes } = chat.state;
  return { ...told, messages: chat.messages, status: chat.status, calls, writes };
}

for await (const line of createInterface({ input: process.stdin })) {
  const result = await perform(JSON.parse(line)).catch((error) => ({ fault: error.stack }));
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

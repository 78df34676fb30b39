// Has the clients of one npm package run a tool by way of a gateway, and tells what each saw.
//
//   node gateway-client.mjs openai http://127.0.0.1:1234 hermes tool-fence
//
// Prints one JSON list: for each client, model and way of reading the texts of the model, and the
// inputs that the tool was given.

import { execFileSync } from "node:child_process";

const [, , name, url, ...models] = process.argv;

const TOOL = "run_command";
const DESCRIPTION = "Run a command in a shell.";
const SCHEMA = {
  type: "object",
  properties: { command: { type: "string" }, lines: { type: "integer" } },
  required: ["command", "lines"],
  additionalProperties: false,
};
const QUESTION = "Run it.";

function runner() {
  const inputs = [];
  const run = (input) => {
    inputs.push(input);
    const output = execFileSync("/bin/sh", ["-c", input.command], { encoding: "utf8" });
    return output.split("\n").slice(0, input.lines).join("\n").trimEnd();
  };
  return { inputs, run };
}

async function chat(model, streams, run) {
  const { default: OpenAI } = await import("openai");
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none" });
  const messages = [{ role: "user", content: QUESTION }];
  const tools = [
    { type: "function", function: { name: TOOL, description: DESCRIPTION, parameters: SCHEMA } },
  ];
  const texts = [];
  for (;;) {
    const asked = { model, messages, tools };
    const reply = streams
      ? await client.chat.completions.stream(asked).finalChatCompletion()
      : await client.chat.completions.create(asked);
    const { message } = reply.choices[0];
    messages.push(message);
    texts.push(message.content ?? "");
    if (!message.tool_calls?.length) return texts;
    for (const call of message.tool_calls) {
      const content = run(JSON.parse(call.function.arguments));
      messages.push({ role: "tool", tool_call_id: call.id, content });
    }
  }
}

async function responses(model, streams, run) {
  const { default: OpenAI } = await import("openai");
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none" });
  const input = [{ role: "user", content: QUESTION }];
  const tools = [
    { type: "function", name: TOOL, description: DESCRIPTION, parameters: SCHEMA, strict: true },
  ];
  const texts = [];
  for (;;) {
    const asked = { model, input, tools };
    const reply = streams
      ? await client.responses.stream(asked).finalResponse()
      : await client.responses.create(asked);
    input.push(...reply.output);
    texts.push(reply.output_text);
    const calls = reply.output.filter((item) => item.type === "function_call");
    if (!calls.length) return texts;
    for (const call of calls) {
      const output = run(JSON.parse(call.arguments));
      input.push({ type: "function_call_output", call_id: call.call_id, output });
    }
  }
}

async function messages(model, streams, run) {
  const { default: Anthropic } = await import("@anthropic-ai/sdk");
  const client = new Anthropic({ baseURL: url, apiKey: "none" });
  const said = [{ role: "user", content: QUESTION }];
  const tools = [{ name: TOOL, description: DESCRIPTION, input_schema: SCHEMA }];
  const texts = [];
  for (;;) {
    const asked = { model, max_tokens: 1000, messages: said, tools };
    const reply = streams
      ? await client.messages.stream(asked).finalMessage()
      : await client.messages.create(asked);
    said.push({ role: "assistant", content: reply.content });
    const blocks = (type) => reply.content.filter((block) => block.type === type);
    texts.push(blocks("text").map((block) => block.text).join(""));
    const calls = blocks("tool_use");
    if (!calls.length) return texts;
    const content = calls.map((call) => ({
      type: "tool_result",
      tool_use_id: call.id,
      content: run(call.input),
    }));
    said.push({ role: "user", content });
  }
}

// A client of the package `ai`, with one of its providers.
function ai(version, open) {
  return async (model, streams, run) => {
    const { generateText, jsonSchema, stepCountIs, streamText, tool } = await import(version);
    const command = tool({
      description: DESCRIPTION,
      inputSchema: jsonSchema(SCHEMA),
      execute: async (input) => run(input),
    });
    const asked = {
      model: await open(model),
      prompt: QUESTION,
      tools: { [TOOL]: command },
      stopWhen: stepCountIs(5),
      maxRetries: 0,
    };
    if (!streams) return (await generateText(asked)).steps.map((step) => step.text);
    const errors = [];
    const result = streamText({ ...asked, onError: ({ error }) => errors.push(error) });
    const steps = await result.steps;
    if (errors.length) throw errors[0];
    return steps.map((step) => step.text);
  };
}

const compatible = (version) => async (model) => {
  const { createOpenAICompatible } = await import(version);
  return createOpenAICompatible({ name: "gateway", baseURL: `${url}/v1`, apiKey: "none" })(model);
};
const openai = (api) => async (model) => {
  const { createOpenAI } = await import("@ai-sdk/openai");
  return createOpenAI({ baseURL: `${url}/v1`, apiKey: "none" })[api](model);
};
const anthropic = async (model) => {
  const { createAnthropic } = await import("@ai-sdk/anthropic");
  return createAnthropic({ baseURL: `${url}/v1`, apiKey: "none" })(model);
};

const PACKAGES = {
  openai: { chat, responses },
  anthropic: { messages },
  ai6: { compatible: ai("ai6", compatible("compatible2")) },
  ai7: {
    compatible: ai("ai7", compatible("compatible3")),
    chat: ai("ai7", openai("chat")),
    responses: ai("ai7", openai("responses")),
    messages: ai("ai7", anthropic),
  },
};

const seen = [];
for (const [client, ask] of Object.entries(PACKAGES[name])) {
  for (const model of models) {
    for (const streams of [false, true]) {
      const { inputs, run } = runner();
      const row = { client, model, streams, texts: [], inputs, error: "" };
      try {
        row.texts = await ask(model, streams, run);
      } catch (error) {
        row.error = String(error?.stack ?? error);
      }
      seen.push(row);
    }
  }
}
console.log(JSON.stringify(seen));

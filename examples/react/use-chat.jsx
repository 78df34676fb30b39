// A chat with useChat of the AI SDK; <call-blocks> draws what the model says and does.
//
//   npm install react react-dom ai @ai-sdk/react callblocks
//   callblocks serve --ask --origin http://localhost:5173     then open /?server=…#token=…

import "callblocks";
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport } from "ai";
import { useState } from "react";
import { createRoot } from "react-dom/client";
import { CHAT, answer } from "./server.js";

const transport = new DefaultChatTransport(CHAT);

function Chat() {
  const [draft, setDraft] = useState("");
  const { messages, sendMessage, status, stop, error } = useChat({ transport });
  const isLive = status === "submitted" || status === "streaming";

  const send = (event) => {
    event.preventDefault();
    sendMessage({ text: draft });
    setDraft("");
  };

  return (
    <main>
      {messages.map((message, at) => (
        <call-blocks
          key={message.id}
          from={message.role}
          parts={message.parts}
          live={isLive && at === messages.length - 1 ? "" : null}
          oncallblocks-answer={answer}
        />
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form onSubmit={send}>
        <input aria-label="Message" value={draft} onChange={(event) => setDraft(event.target.value)} />
        {isLive ? <button type="button" onClick={stop}>Stop</button> : <button>Send</button>}
      </form>
    </main>
  );
}

createRoot(document.getElementById("root")).render(<Chat />);

// A thread of assistant-ui whose messages <call-blocks> draws: its composer, our batches and cards.
//
//   npm install react react-dom @assistant-ui/react @assistant-ui/react-ai-sdk callblocks
//   callblocks serve --ask --origin http://localhost:5173     then open /?server=…#token=…

import "callblocks";
import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  ErrorPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
  getExternalStoreMessages,
  useAuiState,
} from "@assistant-ui/react";
import { AssistantChatTransport, useChatRuntime } from "@assistant-ui/react-ai-sdk";
import { createRoot } from "react-dom/client";
import { CHAT, answer } from "./server.js";

const transport = new AssistantChatTransport(CHAT);

function Message() {
  const message = useAuiState(({ message }) => message);
  // The parts as they came: assistant-ui's own form of a message leaves the questions out.
  const parts = getExternalStoreMessages(message).flatMap((one) => one.parts);
  return (
    <MessagePrimitive.Root>
      <call-blocks
        from={message.role}
        parts={parts}
        live={message.status?.type === "running" ? "" : null}
        oncallblocks-answer={answer}
      />
      <MessagePrimitive.Error>
        <ErrorPrimitive.Root>
          <ErrorPrimitive.Message />
        </ErrorPrimitive.Root>
      </MessagePrimitive.Error>
    </MessagePrimitive.Root>
  );
}

function App() {
  const runtime = useChatRuntime({ transport });
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <ThreadPrimitive.Root>
        <ThreadPrimitive.Viewport>
          <ThreadPrimitive.Messages>{() => <Message />}</ThreadPrimitive.Messages>
        </ThreadPrimitive.Viewport>
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input aria-label="Message" />
          <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

createRoot(document.getElementById("root")).render(<App />);

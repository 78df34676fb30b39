// What both chats share: where the server of callblocks is, and how a question is answered.

const SERVER = new URLSearchParams(location.search).get("server") ?? "http://127.0.0.1:8765";
const TOKEN = location.hash.replace("#token=", "");
const HEADERS = {
  ...(TOKEN ? { authorization: `Bearer ${TOKEN}` } : {}),
  // A stream of version 5 goes on while somebody is asked; every newer client reads it.
  "x-callblocks-sdk-version": "5",
};

export const CHAT = { api: `${SERVER}/api/chat`, headers: HEADERS };

// The person's answer, as the card gives it: once, for some minutes, or not at all.
export async function answer({ target, detail: { approval, verdict, minutes, reason } }) {
  const response = await fetch(`${SERVER}/api/approvals/${approval.id}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...HEADERS },
    body: JSON.stringify({ verdict, minutes, reason }),
  }).catch((error) => error);
  if (!response.ok) target.refuse(approval.id, response.message ?? `the server said ${response.status}`);
}

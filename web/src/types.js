/**
 * The shapes that the stages of a page hand to each other: decode → reduce → group → render.
 *
 *     chunk    one JSON object of a UI message stream, as it came over the wire
 *     part     a piece of a message: text, reasoning, a call, an approval, a file …
 *     section  what is drawn as one thing: prose, a batch of calls, an approval …
 *
 * Parts are those of the AI SDK, as our server sends them and as a client of any version keeps
 * them. All of it is foreign: a reader takes no field for granted.
 *
 * @module
 */

/**
 * A chunk of a stream; only its `type` is looked at before the rest.
 * @typedef {{type: string, [key: string]: any}} Chunk
 */

/**
 * One event of a stream: `chunk` is null for `[DONE]`, and where the data is no JSON object.
 * @typedef {object} StreamEvent
 * @property {string} id the last `id:` that was seen, for `Last-Event-ID`
 * @property {Chunk | null} chunk
 */

/**
 * A part of a message: `text`, `reasoning`, `dynamic-tool`, `tool-NAME`, `data-…`, `file`,
 * `step-start`, `source-url`, and `validation` of older chat texts.
 * @typedef {{type: string, [key: string]: any}} Part
 */

/**
 * @typedef {object} Message
 * @property {string} id
 * @property {"user" | "assistant" | "system"} role
 * @property {Record<string, any>} [metadata]
 * @property {Part[]} parts
 */

/**
 * How far a call came: `writing` its input, `waiting` for an answer, `running`, and three ends.
 * @typedef {"writing" | "waiting" | "running" | "done" | "failed" | "denied"} CallState
 */

/**
 * Where the whole of something is that is shown in part.
 * @typedef {object} More
 * @property {number} [size] the size of the whole, in bytes
 * @property {string} [href]
 */

/**
 * @typedef {object} Call
 * @property {string} id
 * @property {string} name
 * @property {any} input
 * @property {CallState} state
 * @property {any} [output]
 * @property {string} [error] why it failed, or was denied
 * @property {number} [startedAt] when it began, in milliseconds since 1970
 * @property {number} [seconds] how long it took
 * @property {string} [progress] the last that a running call told
 * @property {string} [shown] a display text that came ready, instead of name and input
 * @property {Parsed} [parsed] for a call that is only read, and never runs
 * @property {string[]} [notices] what the runtime has to say about it
 * @property {Grant} [grant] what let it through without a question
 * @property {string} [code] the program that it ran, where one was recorded
 * @property {More} [more]
 */

/**
 * How far a call was read, and what is wrong with one that is not whole.
 * @typedef {{word: "arriving" | "ready" | "not whole", why?: string}} Parsed
 */

/**
 * @typedef {object} Approval
 * @property {string} id what an answer names
 * @property {string} callId
 * @property {string} tool
 * @property {any} input
 * @property {string} reason why it is asked
 * @property {string} [preview] what would happen, often a diff
 * @property {string[]} [tainted] what of the input came from untrusted text
 * @property {boolean} [approved] absent while it is open
 * @property {string} [answer] what the person said with it
 * @property {boolean} [over] the call ended without an answer
 * @property {boolean} [hidden] masks cover more than values: it cannot be approved here
 * @property {number} [minutes] the yes is a grant for so long
 * @property {number} [expiresAt] when the grant ends, in seconds since 1970
 * @property {number} [askedAt] in milliseconds since 1970
 */

/**
 * What let a call through without a question.
 * @typedef {{id: string, minutes: number, expiresAt: number}} Grant
 */

/**
 * @typedef {object} Artifact
 * @property {string} digest
 * @property {string} path
 * @property {string} name the last piece of the path
 * @property {string} mime
 * @property {number} size in bytes
 * @property {string} callId
 * @property {string} href
 */

/** @typedef {{name: string, mime: string, url: string, size?: number, text?: string}} FileRef */

/** @typedef {{kind: "prose", key: string, text: string, live: boolean, kept?: boolean, member?: string}} Prose */
/** @typedef {{kind: "thought", key: string, text: string, live: boolean, seconds?: number, member?: string}} Thought */
/** @typedef {{kind: "batch", key: string, calls: Call[], failed: number, running: string, member?: string}} Batch */
/** @typedef {{kind: "validation", key: string, text: string}} Validation */
/** @typedef {{kind: "approval", key: string, approval: Approval, member?: string, at?: number, waiting?: readonly Approval[]}} ApprovalSection */
/** @typedef {{kind: "artifact", key: string, artifact: Artifact}} ArtifactSection */
/** @typedef {{kind: "file", key: string, file: FileRef}} FileSection */
/** @typedef {{kind: "source", key: string, title: string, url: string}} SourceSection */
/** @typedef {{kind: "member", key: string, name: string, status: string, message: string}} MemberSection */
/** @typedef {{kind: "problem", key: string, code: string, detail: string}} ProblemSection */
/** @typedef {{kind: "ending", key: string, status: string, text: string}} Ending */
/** @typedef {{kind: "other", key: string, type: string, text: string}} Other a part that is not known */

/**
 * What is drawn as one thing. A `key` stays the same over all updates of a message.
 * @typedef {Prose | Thought | Batch | Validation | ApprovalSection | ArtifactSection
 *   | FileSection | SourceSection | MemberSection | ProblemSection | Ending | Other} Section
 */

/**
 * A call on its line: `name(args)`, `args` null where there are none to speak of.
 * @typedef {{name: string, args: string | null}} CallLine
 */

/**
 * How a result stands: beside its call, below it, or not at all.
 * @typedef {object} Layout
 * @property {"none" | "inline" | "below" | "pending" | "failed" | "empty"} kind
 * @property {boolean} [failed] the lines say why it failed
 * @property {string} text the lines shown, joined
 * @property {string[]} lines at most three
 * @property {string} [more] `... (12 more lines)`, `... (truncated, 2.3KB)`
 */

export {};

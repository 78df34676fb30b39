// Browsers start no worker for a page that is opened from a file. There the search runs in a hidden
// frame: the frame's window stands in for the worker's global object.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #frame = document.createElement("iframe");
    #loaded;

    constructor(address) {
      super();
      this.#frame.hidden = true;
      document.body.append(this.#frame);
      const inner = this.#frame.contentWindow;
      inner.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        this.onmessage?.(event);
      };
      const script = inner.document.createElement("script");
      script.src = new URL(address, location.href).href;
      this.#loaded = new Promise((resolve) => script.addEventListener("load", resolve));
      inner.document.body.append(script);
    }

    async postMessage(data) {
      await this.#loaded;
      const inner = this.#frame.contentWindow;
      inner.dispatchEvent(new inner.MessageEvent("message", { data }));
    }

    terminate() {
      this.#frame.remove();
    }
  };
}

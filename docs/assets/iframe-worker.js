// Browsers start no worker for a page that was opened from disk. There, the script of the search runs in a hidden
// frame instead, which passes messages on as a worker would.
if (location.protocol === "file:")
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      const inside = this.frame.contentWindow
      inside.postMessage = data => {
        const message = new MessageEvent("message", { data })
        this.dispatchEvent(message)
        if (this.onmessage) this.onmessage(message)
      }
      const script = inside.document.createElement("script")
      script.src = url
      this.ready = new Promise(resolve => script.addEventListener("load", resolve))
      inside.document.body.append(script)
    }
    postMessage(data) {
      this.ready.then(() => {
        const inside = this.frame.contentWindow
        inside.dispatchEvent(new inside.MessageEvent("message", { data }))
      })
    }
    terminate() {
      this.frame.remove()
    }
  }

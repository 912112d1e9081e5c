type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/**
 * A fetch whose answers hold no message longer than allowed: a body of JSON is one message, a stream of events has one
 * an event. What goes on beyond that is cut off with an error.
 */
export function limitResponses(fetch: Fetch, maxMessageBytes: number): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init)
    if (!response.body) return response
    const isStream = response.headers.get('content-type')?.includes('text/event-stream') === true
    const limited = response.body.pipeThrough(limitBytes(maxMessageBytes, isStream))
    const { status, statusText, headers } = response
    return new Response(limited, { status, statusText, headers })
  }
}

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

function limitBytes(maxBytes: number, isEventStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  let isLineEmpty = true
  return new TransformStream({
    transform(chunk, controller) {
      for (const byte of isEventStream ? chunk : []) {
        // An empty line ends an event.
        if (byte === LINE_FEED && isLineEmpty) bytes = 0
        if (byte !== CARRIAGE_RETURN) isLineEmpty = byte === LINE_FEED
        bytes++
      }
      if (!isEventStream) bytes += chunk.length
      if (bytes > maxBytes)
        controller.error(new Error(`its answer is longer than ${maxBytes} bytes; ask it for less`))
      else controller.enqueue(chunk)
    },
  })
}

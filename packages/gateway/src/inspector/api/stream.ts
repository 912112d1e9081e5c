/** A response that is written in parts. */
export interface ResponseStream {
  readonly response: Response
  /** Whether the reader keeps up. */
  readonly isReady: boolean
  readonly send: (text: string) => void
  readonly end: () => void
}

/** Opens a stream; `onGone` is called when the reader disconnects. */
export function streamOf(type: string, onGone: () => void): ResponseStream {
  const encoder = new TextEncoder()
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  const body = new ReadableStream<Uint8Array>(
    {
      start: (opened) => {
        controller = opened
      },
      cancel: () => {
        controller = undefined
        onGone()
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: MAX_WAITING_BYTES }),
  )
  return {
    response: new Response(body, {
      headers: { 'content-type': type, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
    }),
    get isReady() {
      return (controller?.desiredSize ?? 0) > 0
    },
    send: (text) => controller?.enqueue(encoder.encode(text)),
    end: () => {
      controller?.close()
      controller = undefined
    },
  }
}

const MAX_WAITING_BYTES = 1024 * 1024

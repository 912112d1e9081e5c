import type { CallResult } from '@toolcrib/core'
import { flag, json, text, writing } from './route.ts'
import { streamOf } from './stream.ts'

/** What a call on the page sends, line by line. */
export type CallLine =
  | {
      readonly kind: 'progress'
      readonly progress: number
      readonly total?: number
      readonly message?: string
    }
  | { readonly kind: 'result'; readonly result: CallResult }

/**
 * Calls a tool like a model, through every gate, and sends progress and the result as JSON lines. Closing the page
 * cancels the call.
 */
export const call = writing(
  { name: text, args: json, dryRun: flag },
  async (inspection, { name, args, dryRun }, { signal }) => {
    const session = await inspection.trial()
    const toolCallId = inspection.newCallId()
    const stopped = new AbortController()
    const stream = streamOf('application/x-ndjson', () => stopped.abort())
    const send = (line: CallLine) => stream.send(`${JSON.stringify(line)}\n`)
    const running = inspection.run(
      session,
      { toolCallId, name, args: args ?? {} },
      {
        dryRun,
        signal: AbortSignal.any([signal, stopped.signal]),
        maxIdenticalCalls: 0,
        // A person pressed the button.
        onAsk: () => 'once',
        onProgress: ({ progress, total, message }) =>
          send({
            kind: 'progress',
            progress,
            ...(total === undefined ? {} : { total }),
            ...(message === undefined ? {} : { message }),
          }),
      },
    )
    running.then(([result]) => {
      if (result) send({ kind: 'result', result })
      stream.end()
    }, stream.end)
    return stream.response
  },
)

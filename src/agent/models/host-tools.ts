import type { Dialect } from '../../dialects/dialect.ts'

/** A dialect whose requests show the host's own tools before the session's. */
export function withHostTools<Message, Request, Response, StreamEvent, HostTool>(
  dialect: Dialect<Message, Request, Response, StreamEvent, HostTool>,
  hostTools: readonly HostTool[] | undefined,
): Dialect<Message, Request, Response, StreamEvent, HostTool> {
  if (hostTools === undefined || hostTools.length === 0) return dialect
  const { maxTools } = dialect as { maxTools?: number }
  return {
    ...dialect,
    // A session that counts its deferred tools leaves room for these.
    ...(maxTools === undefined ? {} : { maxTools: maxTools - hostTools.length }),
    toRequest: (input) =>
      dialect.toRequest({ ...input, hostTools: [...hostTools, ...(input.hostTools ?? [])] }),
  }
}

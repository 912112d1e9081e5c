import type { ServerDirectory } from '../registry/server-directory.ts'
import { clamp } from '../text.ts'
import type { ToolResult } from '../tool.ts'
import { answer, clipList } from './answer.ts'

/** Waits until servers have connected, and says how each is. */
export async function answerWait(
  directory: ServerDirectory,
  {
    servers,
    timeout_ms,
  }: { readonly servers?: readonly string[] | undefined; readonly timeout_ms?: number | undefined },
): Promise<ToolResult> {
  const timeoutMs = clamp(timeout_ms, { min: 0, max: 60_000, otherwise: 10_000 })
  await directory.settled({ timeoutMs, ...(servers ? { servers } : {}) })
  const statuses = directory.statuses().filter(({ server }) => !servers || servers.includes(server))
  const known = new Set(statuses.map(({ server }) => server))
  const unknown = servers?.filter((server) => !known.has(server)) ?? []
  return answer({
    servers: statuses,
    ...(unknown.length > 0 ? { unknown: clipList(unknown) } : {}),
  })
}

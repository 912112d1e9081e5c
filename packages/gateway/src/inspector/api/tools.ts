import { NO_COUNTS, type ToolCounts } from '../record/activity.ts'
import { pause, type ToolRow } from '../tool-book.ts'
import { asWritten } from './judged-text.ts'
import { invalid, reading, text } from './route.ts'

/** A tool as a line of the list. */
export interface ListedTool extends ToolRow, ToolCounts {
  readonly state: string
}

/** How many tools are explained before others get their turn. */
const BATCH = 200

/** Every tool, with its cost, its state and its counts. */
export const tools = reading({}, async ({ book, history, registry }): Promise<readonly ListedTool[]> => {
  const rows = await book.rows()
  const { tools: counts } = await history.activity()
  const listed: ListedTool[] = []
  for (const row of rows) {
    if (listed.length % BATCH === 0) await pause()
    listed.push({ ...row, ...(counts[row.name] ?? NO_COUNTS), state: registry.explain(row.name).state })
  }
  return listed
})

/** What the config hides with `deny` of each server: names of tools, or patterns. */
export const hiddenTools = reading({}, async ({ config }) => {
  const configured = Object.entries((await config?.found())?.config.servers ?? {})
  return configured.flatMap(([server, { deny = [] }]) => deny.map((tool) => ({ server, tool })))
})

/** One tool in full. */
export const tool = reading(
  { name: text },
  async ({ book, history, registry, servers, config }, { name }) => {
    const found = registry.get(name)
    const row = (await book.rows()).find((each) => each.name === name)
    if (!found || !row)
      throw invalid(`there is no tool "${name}": its server has removed it, or it is hidden; see Tools`)
    const { tools: counts } = await history.activity()
    const server = row.kind === 'mcp' ? row.source : undefined
    const settings = server === undefined ? undefined : (await config?.found())?.config.servers[server]
    return {
      ...row,
      ...(counts[name] ?? NO_COUNTS),
      title: found.title ?? found.annotations?.title ?? null,
      description: found.description,
      inputSchema: found.inputSchema,
      outputSchema: found.outputSchema ?? null,
      annotations: found.annotations ?? {},
      searchHint: found.searchHint ?? null,
      explanation: registry.explain(name),
      findings: servers
        .findings({ soFar: true })
        .filter((finding) => finding.server === server && finding.tool === row.ownName && !finding.item)
        .map((finding) => asWritten(finding, servers)),
      /** Its settings in the config; null if they cannot be changed here. */
      setting: settings
        ? {
            isPinned: settings.pinned?.includes(row.ownName) === true,
            hint: Object.hasOwn(settings.hints ?? {}, row.ownName)
              ? (settings.hints?.[row.ownName] ?? '')
              : '',
          }
        : null,
    }
  },
)

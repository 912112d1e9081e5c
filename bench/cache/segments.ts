/** A part of what the model reads. */
export interface Segment {
  readonly text: string
  /** A tool's definition, wherever it is: shown, referenced, or in a search result. */
  readonly isTool: boolean
}

/** Returns what the model reads of a request, in order: tools, system prompt, messages. Deferred tools are not read. */
export function toSegments(request: object): readonly Segment[] {
  const { tools, config, system, instructions, messages, contents, input } = request as Record<
    string,
    unknown
  >
  const settings = config as
    | { tools?: { functionDeclarations: unknown[] }[]; systemInstruction?: string }
    | undefined
  const shown = (tools ?? settings?.tools?.flatMap((tool) => tool.functionDeclarations) ?? []) as object[]
  const definitions = new Map(shown.map((tool) => ['name' in tool ? String(tool.name) : '', render(tool)]))
  return [
    ...shown
      .filter((tool) => !('defer_loading' in tool))
      .map((tool) => ({ text: render(tool), isTool: true })),
    ...[system, instructions, settings?.systemInstruction]
      .filter((text) => text !== undefined)
      .map((text) => ({ text: render(text), isTool: false })),
    ...((messages ?? contents ?? input) as unknown[]).flatMap((message) =>
      messageSegments(message, definitions),
    ),
  ]
}

/** Splits a message; search results count as tools, and references as the definitions they refer to. */
function messageSegments(message: unknown, definitions: ReadonlyMap<string, string>): readonly Segment[] {
  const text = render(message)
  const isSearchAnswer = text.includes('tool_search_output') || text.includes('"matches":')
  const referred = [...text.matchAll(/"tool_reference","tool_name":"([^"]+)"/g)].map(([, name = '']) => ({
    text: definitions.get(name) ?? '',
    isTool: true,
  }))
  return [{ text, isTool: isSearchAnswer }, ...referred]
}

/** Flags for the provider: whether a tool is deferred, and whether its schema is enforced. */
const FLAGS: ReadonlySet<string> = new Set(['defer_loading', 'strict'])

/** Approximates what the model reads: text inside a message counts as plain text, not as escaped JSON. */
function render(value: unknown): string {
  const read = JSON.stringify(value, (key, inner: unknown) =>
    FLAGS.has(key) && typeof inner === 'boolean' ? undefined : inner,
  )
  return read.replaceAll('\\"', '"').replaceAll('\\n', '\n')
}

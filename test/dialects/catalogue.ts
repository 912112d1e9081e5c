import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isRecord } from '../../packages/core/src/json.ts'
import type { Tool } from '../../packages/core/src/tool.ts'
import { ToolRegistry } from '../../packages/core/src/tool-registry.ts'
import { SAMPLE_SCHEMAS } from './sample-schemas.ts'

export const DUMPS = join(import.meta.dirname, '../../../shared/data/mcp-dumps')

/** A registry with tools of hard names and schemas, spread over servers, and a few that are always shown. */
export function sampleRegistry(): ToolRegistry {
  const registry = new ToolRegistry()
  registry.register(tool('ping', 'Answers with pong.', { type: 'object', properties: {} }))
  registry.register(
    tool(
      'draw.chart',
      'Draws a chart as a picture.',
      { type: 'object', properties: { of: { type: 'string' } } },
      [{ type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' }],
    ),
  )
  const schemas = Object.entries(SAMPLE_SCHEMAS)
  for (const server of ['disk', 'mail', 'weather station']) {
    registry.syncMcp(
      server,
      schemas.map(([name, schema], index) =>
        tool(`${index} ${name}`, `Sample ${name} of ${server}.`, schema as Tool['inputSchema']),
      ),
    )
  }
  registry.syncMcp('city', [
    tool('get_rain', 'Rainfall of a city.', {
      type: 'object',
      properties: { city: { type: 'string' }, 'From<': { type: 'string' } },
      required: ['city'],
    }),
  ])
  return registry
}

/** The real catalogue, when it is there; tools whose name collides are left out. */
export function realRegistry(): { registry: ToolRegistry; count: number } | undefined {
  if (!existsSync(DUMPS)) return undefined
  const registry = new ToolRegistry()
  for (const file of readdirSync(DUMPS).sort()) {
    if (!file.endsWith('.json') || file.startsWith('_')) continue
    const { tools } = JSON.parse(readFileSync(`${DUMPS}/${file}`, 'utf8'))
    const seen = new Set<string>()
    const own = tools.filter(({ name }: { name: string }) => !seen.has(name) && seen.add(name))
    registry.syncMcp(
      file.replace('.json', ''),
      own.map(({ name, description, inputSchema }: Tool) => tool(name, description ?? '', inputSchema ?? {})),
    )
  }
  return { registry, count: registry.size }
}

export function tool(
  name: string,
  description: string,
  inputSchema: Tool['inputSchema'],
  content?: Extract<Awaited<ReturnType<Tool['execute']>>, { ok: true }>['content'],
): Tool {
  return {
    name,
    description,
    inputSchema,
    execute: (input) => ({
      ok: true,
      value: `${name} was given ${JSON.stringify(isRecord(input) ? input : {})}`,
      ...(content ? { content } : {}),
    }),
  }
}

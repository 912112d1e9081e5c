import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Tool } from '../../packages/core/src/tool.ts'

const DUMPS = join(import.meta.dirname, '../../../shared/data/mcp-dumps')
const GENERATED = 2_600

/** A tool and its server. */
export interface ServerTool {
  readonly server: string
  readonly tool: Tool
}

/** Loads the tools of real servers, or made-up ones if they are not available. */
export function loadCatalogue(): readonly ServerTool[] {
  return existsSync(DUMPS) ? realTools() : generatedTools(GENERATED)
}

function realTools(): readonly ServerTool[] {
  const files = readdirSync(DUMPS).filter((file) => file.endsWith('.json') && !file.startsWith('_'))
  return files.sort().flatMap((file) => {
    const { tools } = JSON.parse(readFileSync(`${DUMPS}/${file}`, 'utf8')) as { tools: Tool[] }
    const byName = new Map(tools.map((tool) => [tool.name, tool]))
    return [...byName.values()].map(({ name, description, inputSchema }) => ({
      server: file.replace('.json', ''),
      tool: toTool(name, description ?? '', inputSchema ?? {}),
    }))
  })
}

function generatedTools(count: number): readonly ServerTool[] {
  return Array.from({ length: count }, (_, index) => ({
    server: `server${index % 60}`,
    tool: toTool(`do_thing_${index}`, `Does thing number ${index}, with care. `.repeat(4), {
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 6 }, (_, place) => [
          `field_${place}`,
          { type: 'string', description: 'What it holds.' },
        ]),
      ),
    }),
  }))
}

function toTool(name: string, description: string, inputSchema: Tool['inputSchema']): Tool {
  const value = 'A line of what the tool found out. '.repeat(20)
  return { name, description, inputSchema, execute: () => ({ ok: true, value }) }
}

/** Takes `size` tools, spread over the whole catalogue. */
export function sample(tools: readonly ServerTool[], size: number): readonly ServerTool[] {
  if (size >= tools.length) return tools
  return Array.from({ length: size }, (_, index) => tools[Math.floor((index * tools.length) / size)]).filter(
    (tool) => tool !== undefined,
  )
}

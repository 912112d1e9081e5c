import { parse as parseToml } from 'smol-toml'
import { parseAgent } from '../../packages/core/src/agent/agent-definition.ts'
import { describeError } from '../../packages/core/src/errors.ts'
import { readConfig } from '../../packages/mcp/src/config/load-config.ts'
import { type Block, type Page, withoutCode } from './pages.ts'

/** Blocks of data that Toolcrib would not read, as `page:line: reason`. */
export function dataFaults(pages: readonly Page[]): readonly string[] {
  return pages
    .flatMap(({ blocks }) => blocks)
    .flatMap((block) => {
      try {
        read(block)
        return []
      } catch (error) {
        return [`${block.page}:${block.line}: ${describeError(error)}`]
      }
    })
}

/** Text that the site would read as a component or an expression; inline code is safe. */
export function markupFaults(pages: readonly Page[]): readonly string[] {
  return pages.flatMap(({ path, text }) => {
    if (!path.startsWith('docs/')) return []
    const lines = withoutCode(text).split('\n')
    return lines.flatMap((line, index) => {
      const [markup] = /(?<!\\)<[a-zA-Z][\w-]*>|\{\{/.exec(line.replace(/`[^`]*`/g, '')) ?? []
      return markup === undefined ? [] : [`${path}:${index + 1}: write ${markup} as code`]
    })
  })
}

const WIDTH = 120

/** Lines of prose that are longer than others; tables, headings and generated pages are as long as they must be. */
export function widthFaults(pages: readonly Page[]): readonly string[] {
  return pages.flatMap(({ path, text }) => {
    if (path.startsWith('docs/reference/')) return []
    const frontmatter = /^---\n[\s\S]*?\n---\n/.exec(text)?.[0].split('\n').length ?? 0
    const lines = withoutCode(text).split('\n')
    return lines.flatMap((line, index) => {
      // Code is not broken.
      const words = line.trim().replace(/^(?:[-*+>]|\d+\.) |`[^`]*`/g, '')
      const isProse = index >= frontmatter && !/^(?:\||#|<)/.test(words) && words.includes(' ')
      return isProse && line.length > WIDTH
        ? [`${path}:${index + 1}: ${line.length} characters; wrap at ${WIDTH}`]
        : []
    })
  })
}

/** Configs go through the reader that commands use, agents through that of agents; other JSON must be JSON. */
function read({ language, code }: Block): void {
  if (language === 'toml') readConfig(parseToml(code), { env: variablesOf(code) })
  if (language === 'json')
    for (const value of jsonOf(code)) if (isConfig(value)) readConfig(value, { env: variablesOf(code) })
  if (language === 'markdown' && code.startsWith('---')) parseAgent(code, 'agent.md')
}

/** An environment in which the variables of a block have a value. */
function variablesOf(code: string): Record<string, string> {
  return Object.fromEntries([...code.matchAll(/\$\{(\w+)/g)].map(([, name]) => [name, 'value']))
}

/** One value, or one per line. */
function jsonOf(code: string): readonly unknown[] {
  try {
    return [JSON.parse(code)]
  } catch {
    return code
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  }
}

function isConfig(value: unknown): boolean {
  return typeof value === 'object' && value !== null && ('mcpServers' in value || 'servers' in value)
}

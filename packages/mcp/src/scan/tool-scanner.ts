import type { Finding } from '@toolcrib/core'
import type { Trace } from '@toolcrib/core/internal'
import { isRecord } from '@toolcrib/core/internal'
import { version } from '../../package.json'
import type { ServerTool } from '../listed/server-tool.ts'
import { scanTool, toolTexts, tracesOf } from './scan-tool.ts'
import { SeenServers, type Steps, type ToolLook, toolLook } from './seen-servers.ts'

/** Identifies the rules of a scan: another release may find other things. */
export const SCAN_RULES: string = version

/** Scans the tools of servers as they are listed, individually and compared with those of the others. */
export class ToolScanner {
  readonly #scanned = new Map<string, ScannedServer>()
  readonly #seen = new SeenServers()
  /** The findings about each server that were returned as new. */
  readonly #reported = new Map<string, ReadonlySet<string>>()

  /**
   * Replaces a server's tools; returns the findings that are new. `known` is what `ownFindings()` returned for the same tools
   * under the same rules: then the tools are only compared with those of other servers, which takes a fraction of the time.
   */
  see(server: string, listed: readonly ServerTool[], known?: readonly Finding[]): readonly Finding[] {
    const steps = this.seeInSteps(server, listed, known)
    for (;;) {
      const { done, value } = steps.next()
      if (done) return value
    }
  }

  /**
   * The same, step by step: a large list takes seconds. Only one list can be seen at a time.
   *
   * @example
   * ```ts
   * import { ToolScanner } from 'toolcrib/mcp'
   *
   * const steps = new ToolScanner().seeInSteps('weather', [])
   * while (!steps.next().done) await new Promise((resolve) => setTimeout(resolve))
   * ```
   */
  *seeInSteps(
    server: string,
    listed: readonly ServerTool[],
    known?: readonly Finding[],
  ): Steps<readonly Finding[]> {
    const tools = listed.filter(isRecord).map(named)
    const own = known ?? (yield* scanTools(server, tools))
    const looks: ToolLook[] = []
    for (const tool of tools) {
      yield
      looks.push(toolLook(server, tool))
    }
    this.#remove(server)
    const mentions = yield* this.#seen.findMentions(server, tools)
    const findings = [...own, ...mentions, ...(yield* this.#seen.compare(server, looks))]
    this.#scanned.set(server, { looks, own, findings })
    this.#seen.add(server, looks)
    const reported = new Set<string>()
    const before = this.#reported.get(server)
    const news: Finding[] = []
    for (const finding of findings) {
      yield
      const key = identityOf(finding)
      if (!before?.has(key) && !reported.has(key)) news.push(finding)
      reported.add(key)
    }
    this.#reported.set(server, reported)
    return news
  }

  /** What was found in a server's tools themselves, without the comparison with other servers. */
  ownFindings(server: string): readonly Finding[] {
    return this.#scanned.get(server)?.own ?? []
  }

  /** Forgets a server's tools. If it comes back, its findings are reported again. */
  forget(server: string): void {
    this.#remove(server)
    this.#reported.delete(server)
  }

  #remove(server: string): void {
    this.#seen.remove(server, this.#scanned.get(server)?.looks ?? [])
    this.#scanned.delete(server)
  }

  /** All findings about the current tools. */
  findings(): readonly Finding[] {
    return [...this.#scanned.values()].flatMap(({ findings }) => findings)
  }
}

/** A tool with a name and a description, whatever it was listed with: definitions may come from anywhere. */
function named(tool: ServerTool): ServerTool {
  const { name, description }: { name: unknown; description: unknown } = tool
  if (typeof name === 'string' && typeof description === 'string') return tool
  return {
    ...tool,
    name: typeof name === 'string' ? name : '(no name)',
    description: typeof description === 'string' ? description : '',
  }
}

interface ScannedServer {
  readonly looks: readonly ToolLook[]
  readonly own: readonly Finding[]
  readonly findings: readonly Finding[]
}

function* scanTools(server: string, tools: readonly ServerTool[]): Steps<Finding[]> {
  const known = new Map<string, readonly Trace[]>()
  const findings: Finding[] = []
  for (const tool of tools) {
    const read = toolTexts(tool)
    for (const { text } of read.texts) {
      yield
      tracesOf(text, known)
    }
    findings.push(...scanTool(server, tool, read, known))
  }
  return findings
}

function identityOf({ kind, severity, server, tool, place, message, excerpt }: Finding): string {
  return JSON.stringify([kind, severity, server, tool, place, message, excerpt])
}

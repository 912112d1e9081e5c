import { canonicalJson } from '../../json.ts'
import type { ServerTool } from '../server-tool.ts'
import { compareServers, type ToolLook, toolLook } from './compare-servers.ts'
import type { Finding } from './finding.ts'
import { scanTool } from './scan-tool.ts'

/** Looks at the tools of servers as they come, each by itself and beside those of the others. */
export class ToolScanner {
  readonly #looks = new Map<string, readonly ToolLook[]>()
  readonly #findings = new Map<string, readonly Finding[]>()
  readonly #told = new Set<string>()

  /** Takes a server's tools in place of those it had; answers what was not told before. */
  see(server: string, tools: readonly ServerTool[]): readonly Finding[] {
    this.#looks.delete(server)
    const looks = tools.map((tool) => toolLook(server, tool))
    const findings = [
      ...tools.flatMap((tool) => scanTool(server, tool)),
      ...compareServers(server, looks, this.#looks),
    ]
    this.#looks.set(server, looks)
    this.#findings.set(server, findings)
    return findings.filter((finding) => {
      const key = canonicalJson(finding)
      if (this.#told.has(key)) return false
      this.#told.add(key)
      return true
    })
  }

  forget(server: string): void {
    this.#looks.delete(server)
    this.#findings.delete(server)
  }

  /** What there is to say about the tools as they are. */
  findings(): readonly Finding[] {
    return [...this.#findings.values()].flat()
  }
}

import { version } from '../../../package.json'
import type { Finding, Trace } from '../../finding.ts'
import type { ServerTool } from '../server/server-tool.ts'
import { SeenServers, type ToolLook, toolLook } from './compare-servers.ts'
import { scanTool, toolTexts } from './scan-tool.ts'

/** Names the rules of a scan: what one release found is not what the next one finds. */
export const SCAN_RULES: string = version

/** Scans the tools of servers as they are listed, individually and compared with those of the others. */
export class ToolScanner {
  readonly #scanned = new Map<string, ScannedServer>()
  readonly #seen = new SeenServers()

  /**
   * Replaces a server's tools; returns the findings that are new. `known` is what `ownFindings()` returned for the same tools
   * under the same rules: then the tools are only compared with those of other servers, which takes a fraction of the time.
   */
  see(server: string, tools: readonly ServerTool[], known?: readonly Finding[]): readonly Finding[] {
    const before = this.#scanned.get(server)?.findings ?? []
    this.forget(server)
    const own = known ?? scanTools(server, tools)
    const looks = tools.map((tool) => toolLook(server, tool))
    const findings = [...own, ...this.#seen.findMentions(server, tools), ...this.#seen.compare(server, looks)]
    this.#scanned.set(server, { looks, own, findings })
    this.#seen.add(server, looks)
    const reported = new Set(before.map(keyOf))
    return findings.filter((finding) => {
      const key = keyOf(finding)
      const isNew = !reported.has(key)
      reported.add(key)
      return isNew
    })
  }

  /** What was found in a server's tools themselves, without the comparison with other servers. */
  ownFindings(server: string): readonly Finding[] {
    return this.#scanned.get(server)?.own ?? []
  }

  /** Forgets a server's tools. If it comes back, its findings are reported again. */
  forget(server: string): void {
    this.#seen.remove(server, this.#scanned.get(server)?.looks ?? [])
    this.#scanned.delete(server)
  }

  /** All findings about the current tools. */
  findings(): readonly Finding[] {
    return [...this.#scanned.values()].flatMap(({ findings }) => findings)
  }
}

interface ScannedServer {
  readonly looks: readonly ToolLook[]
  readonly own: readonly Finding[]
  readonly findings: readonly Finding[]
}

function scanTools(server: string, tools: readonly ServerTool[]): Finding[] {
  const known = new Map<string, readonly Trace[]>()
  return tools.flatMap((tool) => scanTool(server, tool, toolTexts(tool), known))
}

function keyOf({ kind, severity, server, tool, place, message, excerpt }: Finding): string {
  return JSON.stringify([kind, severity, server, tool, place, message, excerpt])
}
